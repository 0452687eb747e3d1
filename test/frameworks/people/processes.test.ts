import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { answerAs } from '../../support/people/answering.js'
import { buildOnce } from '../../support/process/command-line.js'
import { proves } from '../../support/proves.js'
import { Person } from '../../support/runtime/person.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

/** Programs in processes of their own, the service, and a person in between. */
const { runtime, owner: signedUp, key } = await withOwnedRuntime()
const runtimeUrl = await runtime.instances[0].listen()
const owner = new Person(runtime.fetch, { email: signedUp.email, origin: runtimeUrl })
await owner.login(signedUp.password)
buildOnce()

const PROGRAM = fileURLToPath(new URL('./asking-program.mjs', import.meta.url))
const contracts = [{ tool: 'pay', side_effect: 'write', checkpoint: { reason: 'every payment', ask: {} } }]

interface Result {
  readonly paid: unknown[]
  readonly questions: { readonly questionId: string; readonly state?: string }[]
  readonly stored: unknown
}

/** What a process has done with each framework, once it has ended. */
const inProcess = (given: object) =>
  new Promise<Record<string, Result>>((done, fail) => {
    const env = { PATH: process.env.PATH ?? '' }
    const child = execFile(process.execPath, [PROGRAM], { env }, (error, stdout, stderr) =>
      error === null ? done(JSON.parse(stdout)) : fail(new Error(stderr)),
    )
    child.stdin?.end(JSON.stringify({ ...given, options: { contracts, apiKey: key, runtimeUrl } }))
  })

proves(
  'ask.frameworks',
  'asked in one process, answered by a person, run in another process, once: by each framework from what it stores',
  async () => {
    const asked = await inProcess({ step: 'ask' })
    expect(Object.keys(asked)).toEqual(['ai 7', 'ai 6', 'langgraph', 'openai-agents'])
    for (const [name, { paid, questions }] of Object.entries(asked)) {
      expect([name, paid, questions.length]).toEqual([name, [], 1])
      expect(await answerAs(owner, questions[0]?.questionId ?? '', { decision: 'approve' })).toBe(200)
    }
    const stored = Object.fromEntries(Object.entries(asked).map(([name, result]) => [name, result.stored]))
    const ran = await inProcess({ step: 'goOn', stored })
    for (const [name, { paid, questions }] of Object.entries(ran)) {
      expect([name, paid, questions.map(({ state }) => state)]).toEqual([name, [{ amount: 900 }], ['used']])
    }
  },
)
