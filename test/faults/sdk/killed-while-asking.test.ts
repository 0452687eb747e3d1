import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterAll, expect } from 'vitest'
import { answerAs } from '../../support/people/answering.js'
import { buildOnce } from '../../support/process/command-line.js'
import { startReplyGate } from '../../support/process/reply-gate.js'
import { startSdkProcess } from '../../support/process/sdk-process.js'
import { proves } from '../../support/proves.js'
import { Person } from '../../support/runtime/person.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

/** Processes with the SDK that are killed with -9 between a question and its receipt. */
const { runtime, owner: signedUp, key } = await withOwnedRuntime()
const origin = await runtime.instances[0].listen()
// From now on the pages have this address.
const owner = new Person(runtime.fetch, { email: signedUp.email, origin })
await owner.login(signedUp.password)

const ran: string[] = []
let answering = Promise.resolve()
const tool = createServer(async (request, response) => {
  ran.push(((await json(request)) as { session: string }).session)
  await answering
  response.end('{}')
})

buildOnce()
const gate = await startReplyGate(origin)
await new Promise<void>((done) => tool.listen(0, '127.0.0.1', done))
afterAll(() => {
  tool.close()
  tool.closeAllConnections()
  gate.close()
})

const contracts = [{ tool: 'pay', side_effect: 'write', checkpoint: { reason: 'every payment', ask: {} } }]
const options = (more: object = {}) => ({
  contracts,
  toolUrl: `http://127.0.0.1:${(tool.address() as AddressInfo).port}`,
  apiKey: key,
  runtimeUrl: gate.url,
  ...more,
})

/** Another process goes on, once the lease of the killed one is over. */
async function goOn(id: string, question: string) {
  const next = await startSdkProcess()
  await next.open(id, options({ takeover: true, inDoubt: 'not_executed' }))
  const resumed = await next.resume(id, question).catch(({ message }: Error) => message)
  const questions = await next.questions(id)
  await next.close(id)
  await next.kill()
  return { resumed, questions }
}

const asked = async (id: string) => {
  const process = await startSdkProcess()
  expect(await process.begin(id, options(), 'c1')).toEqual(['ask'])
  const [question] = (await process.questions(id))[0] ?? []
  return { process, question: question ?? '' }
}

proves('ask.lost-replies', 'killed after it asked: the answer is kept, and another process runs the call', async () => {
  const { process, question } = await asked('ses-asked')
  await process.kill()
  expect(await answerAs(owner, question, { decision: 'approve' })).toBe(200)
  expect(await goOn('ses-asked', question)).toEqual({ resumed: true, questions: [[question, 'used']] })
  expect(ran.filter((id) => id === 'ses-asked')).toHaveLength(1)
})

proves(
  'ask.lost-replies',
  'killed before it heard that it had asked: the question stands, and is asked once',
  async () => {
    const process = await startSdkProcess()
    await process.open('ses-unheard', options())
    await process.prepare('ses-unheard')
    const held = gate.hold(/POST .*\/proposals/)
    process.propose('ses-unheard', 'c1').catch(() => {})
    await held.reached
    await process.kill()
    held.open()
    const next = await startSdkProcess()
    expect(await next.begin('ses-unheard', options({ takeover: true }), 'c1')).toEqual(['ask'])
    expect(await next.questions('ses-unheard')).toHaveLength(1)
    await next.kill()
  },
)

proves('ask.lost-replies', 'killed after the answer was used, before the run: it runs at most once', async () => {
  const { process, question } = await asked('ses-used')
  await answerAs(owner, question, { decision: 'approve' })
  const held = gate.hold(/POST .*\/proposals/)
  process.resume('ses-used', question).catch(() => {})
  await held.reached
  await process.kill()
  held.open()
  // The approval is spent, and nothing ran: the next process says so, and the call may be asked about again.
  expect(await goOn('ses-used', question)).toMatchObject({ resumed: false, questions: [[question, 'used']] })
  expect(ran.filter((id) => id === 'ses-used')).toHaveLength(0)
})

proves('ask.lost-replies', 'killed in the middle of the run: nothing runs it again', async () => {
  const { process, question } = await asked('ses-running')
  await answerAs(owner, question, { decision: 'approve' })
  let answer = (): void => {}
  answering = new Promise((done) => (answer = done))
  process.resume('ses-running', question).catch(() => {})
  await expect.poll(() => ran.filter((id) => id === 'ses-running').length).toBe(1)
  await process.kill()
  answer()
  expect(await goOn('ses-running', question)).toMatchObject({ resumed: false })
  expect(ran.filter((id) => id === 'ses-running')).toHaveLength(1)
})
