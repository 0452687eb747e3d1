import { randomUUID } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { TaskFailed } from '../../../packages/server/src/base/work/worker-thread.js'
import { createTaskThread, type TaskThread } from '../../../packages/server/src/context/tasks.js'
import { judgeWaitingRun } from '../../../packages/server/src/runs/judge-run.js'
import { batchOf, mailConversation } from '../../support/data/captures.js'
import { proves } from '../../support/proves.js'
import { expectStatus } from '../../support/runtime/governed-session.js'
import { planOf } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const real = createTaskThread()
const tried: string[] = []
let isFailing = true
const thread: TaskThread = {
  run: async (tenantId, name, input) => {
    tried.push(name)
    if (isFailing && name === 'judgePage') throw new TaskFailed('judgePage', 'it took longer than 10 seconds')
    return real.run(tenantId, name, input)
  },
  close: () => real.close(),
}
afterAll(() => real.close())

const { runtime, api } = await withRuntime({ parts: { thread } })
const [{ parts }] = runtime.instances

const plan = { compiled_session: planOf([{ tool: 'find_person', side_effect: 'read' }]).compiled_session }
const started = async (agent: string) => {
  expectStatus(await api.ingestCaptures(batchOf(mailConversation(agent, 'Ann'))), 200)
  const run_id = randomUUID()
  expectStatus(await api.createRun({ body: { run_id, plan, against: { agent } } }), 201)
  return run_id
}
const runOf = async (run_id: string) => (await api.loadRun({ params: { run_id } })).body.run

proves('background.run-gives-up', async () => {
  const run = await started('slow')
  await expect.poll(async () => (await runOf(run)).status).toBe('failed')
  expect(tried.filter((name) => name === 'judgePage')).toHaveLength(3)
  expect((await runOf(run)).error).toBe(
    'the run was begun 3 times and did not get through (judgePage failed: it took longer than 10 seconds); ' +
      'start another one with fewer sessions or a simpler plan',
  )
  // Nobody takes it up again.
  expect(await judgeWaitingRun(parts)).toBe(false)
  isFailing = false
  const next = await started('slow')
  await expect.poll(async () => (await runOf(next)).status).toBe('done')
})

test('a run that ended the process each time is not begun a fourth time', async () => {
  const run = await started('fatal')
  await expect.poll(async () => (await runOf(run)).status).toBe('done')
  // As three processes leave it that ended while they judged it.
  await runtime.sql`
    update runs set status = 'running', attempts = 3, report = null, claimed_until = clock_timestamp() - interval '1 s'
    where run_id = ${run}`
  const before = tried.length
  expect(await judgeWaitingRun(parts)).toBe(true)
  expect(tried.length).toBe(before)
  expect(await runOf(run)).toMatchObject({
    status: 'failed',
    error: 'the run was begun 3 times and the server ended each time; it is not tried again',
  })
  expect(await judgeWaitingRun(parts)).toBe(false)
})
