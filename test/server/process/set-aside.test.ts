import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { learnCaptures } from '../../../packages/server/src/captures/learn-captures.js'
import { judgeWaitingRun } from '../../../packages/server/src/runs/judge-run.js'
import { batchOf, mailConversation } from '../../support/data/captures.js'
import { runCommand } from '../../support/process/run-command.js'
import { proves } from '../../support/proves.js'
import { planOf } from '../../support/runtime/plans.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, owner, api } = await withOwnedRuntime()
const [{ parts }] = runtime.instances

const operate = (...args: string[]) => runCommand(['set-aside', ...args], { DATABASE_URL: runtime.databaseUrl })
const learnAll = async () => {
  while ((await learnCaptures(parts)) > 0) {
    // Until nothing is left.
  }
}
const aside = async (agent: string) =>
  (await owner.call('listAgents', {})).body.agents.find((row) => row.agent === agent)?.set_aside

/** As learning leaves a capture that ended the process three times. */
async function setOneAside(agent: string): Promise<{ tenantId: string; captureId: string }> {
  const [item] = mailConversation(agent, 'Ann')
  expect((await api.ingestCaptures(batchOf([item]))).status).toBe(200)
  await runtime.sql`update unlearned_captures set attempts = 3, error = 'it took too long' where agent = ${agent}`
  await learnAll()
  const [row] = await runtime.sql<{ tenantId: string; captureId: string }[]>`
    select tenant_id, capture_id from set_aside_captures where agent = ${agent}`
  if (row === undefined) throw new Error('nothing was set aside')
  return row
}

proves('background.set-aside.reported', async () => {
  const { tenantId, captureId } = await setOneAside('reported')
  expect(await parts.metrics.registry.metrics()).toContain('countersign_set_aside{kind="capture"} 1')
  expect(await aside('reported')).toEqual({ captures: 1, reason: 'it took too long' })
  expect(runtime.logLines.some((line) => line.includes(captureId) && line.includes('set-aside list'))).toBe(true)
  expect(await operate('list')).toMatchObject({ code: 0, output: expect.stringContaining(captureId) })
  expect(await operate('show', 'capture', tenantId, captureId)).toMatchObject({
    code: 0,
    output: expect.stringMatching(/attempts +3[\s\S]+why +it took too long/),
  })
  expect(await operate('retry', 'capture', tenantId, captureId)).toMatchObject({ code: 0 })
  expect(await aside('reported')).toEqual({ captures: 0, reason: null })
  await learnAll()
  const [learned] = await runtime.sql`select samples::int from learned_tools where agent = 'reported'`
  expect(learned?.samples).toBe(1)
  expect(await operate('retry', 'capture', tenantId, captureId)).toMatchObject({
    code: 1,
    output: expect.stringContaining('countersign set-aside list shows what is'),
  })
  const [entry] = await runtime.sql`select actor, subject from audit_entries where action = 'set_aside_retried'`
  expect(entry).toMatchObject({ actor: 'operator', subject: captureId })
})

test('a capture that is dropped stays stored and is not tried again', async () => {
  const { tenantId, captureId } = await setOneAside('dropped')
  expect(await operate('drop', 'capture', tenantId, captureId)).toMatchObject({ code: 0 })
  await learnAll()
  expect(await runtime.sql`select 1 from learned_tools where agent = 'dropped'`).toHaveLength(0)
  expect(await runtime.sql`select 1 from captures where capture_id = ${captureId}`).toHaveLength(1)
})

test('a run that was given up is listed and can be tried again', async () => {
  const plan = { compiled_session: planOf([{ tool: 'find_person', side_effect: 'read' }]).compiled_session }
  expect((await api.ingestCaptures(batchOf(mailConversation('runner', 'Ann')))).status).toBe(200)
  const run_id = randomUUID()
  await api.createRun({ body: { run_id, plan, against: { agent: 'runner' } } })
  const status = async () => (await api.loadRun({ params: { run_id } })).body.run.status
  await expect.poll(status).toBe('done')
  const [run] = await runtime.sql<{ tenantId: string }[]>`
    update runs set status = 'failed', attempts = 3, report = null, error = 'it did not get through'
    where run_id = ${run_id} returning tenant_id`
  expect((await operate('list')).output).toContain('it did not get through')
  expect(await operate('retry', 'run', run?.tenantId ?? '', run_id)).toMatchObject({ code: 0 })
  expect(await judgeWaitingRun(parts)).toBe(true)
  expect(await status()).toBe('done')
})

test.each([
  ['retry', 'letter', 'a', 'b'],
  ['show', 'capture', 'a'],
  ['mend', 'capture', 'a', 'b'],
  ['list', 'capture'],
])('set-aside %s %s … is wrong usage', async (...args) => {
  expect(await operate(...args)).toMatchObject({ code: 2 })
})
