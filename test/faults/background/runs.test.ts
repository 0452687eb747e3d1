import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { afterAll, expect, test, vi } from 'vitest'
import { TaskFailed } from '../../../packages/server/src/base/work/thread-pool.js'
import { createTaskThread, type TaskThread } from '../../../packages/server/src/context/tasks.js'
import { judgeWaitingRun, RUN_SECONDS } from '../../../packages/server/src/runs/judge-run.js'
import { measureConversations } from '../../../packages/server/src/store/captures/captures.js'
import { batchOf, mailConversation } from '../../support/data/captures.js'
import { rowsRead } from '../../support/postgres/rows-read.js'
import { proves } from '../../support/proves.js'
import { expectStatus } from '../../support/runtime/governed-session.js'
import { planOf } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const real = createTaskThread()
const tried: string[] = []
let failing = 'judgePage'
const thread: TaskThread = {
  run: async (tenantId, name, input) => {
    tried.push(name)
    if (name === failing) throw new TaskFailed(name, 'it took longer than 10 seconds')
    return real.run(tenantId, name, input)
  },
  warm: () => {},
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
  failing = ''
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

/** A run that waits, and that only this test takes up. */
const waiting = async (agent: string) => {
  const run = await started(agent)
  await expect.poll(async () => (await runOf(run)).status).toBe('done')
  // The instance looks once more whether another one waits.
  await setTimeout(300)
  await runtime.sql`
    update runs set status = 'queued', attempts = 0, report = null, finished_at = null where run_id = ${run}`
  return run
}

const readingBy = (read: (typeof parts)['database']['read']) => ({ ...parts, database: { ...parts.database, read } })

proves('background.run-gives-up', 'also where reading its sessions takes longer than a statement may', async () => {
  const run = await waiting('unreadable')
  const slow = readingBy(async () => {
    await runtime.sql.begin(async (tx) => {
      await tx`set local statement_timeout = 20`
      await tx`select pg_sleep(5)`
    })
    throw new Error('the statement was not ended')
  })
  for (let attempt = 1; attempt <= 3; attempt++) expect(await judgeWaitingRun(slow)).toBe(true)
  expect(await judgeWaitingRun(slow)).toBe(false)
  expect(await runOf(run)).toMatchObject({
    status: 'failed',
    error:
      'the run was begun 3 times and did not get through (reading its sessions took longer than a statement may); ' +
      'start another one with fewer sessions or a simpler plan',
  })
})

test('the time in which a run reads counts as well as that in which it judges', async () => {
  const run = await waiting('far')
  let aheadMs = 0
  const now = performance.now.bind(performance)
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs)
  const slow = readingBy(async (tenantId, fn) => {
    const found = await parts.database.read(tenantId, fn)
    aheadMs += (RUN_SECONDS / 3) * 1_000
    return found
  })
  try {
    expect(await judgeWaitingRun(slow)).toBe(true)
  } finally {
    clock.mockRestore()
  }
  expect(await runOf(run)).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(/^reading and judging took more than 120 seconds after 1 of 1 sessions/),
  })
})

proves('limit.jobs.pieces', 'a run reads the conversations of a page, and not all captures of the agent', async () => {
  const { tenantId } = runtime
  await runtime.sql`
    insert into captures (tenant_id, capture_id, agent, conversation_id, at, capture_level, tool_names, item)
    select ${tenantId}, 'many-' || n, 'many', 'many-' || n % 2000, now(), 'full', '{}', '{}' from generate_series(1, 20000) n`
  await runtime.sql`analyze captures`
  const ids = Array.from({ length: 100 }, (_, at) => `many-${at}`)
  const read = await parts.database.transaction(tenantId, (tx) =>
    rowsRead(tx, 'captures', () => measureConversations(tx, { tenantId, agent: 'many', ids })),
  )
  expect(read).toBeLessThan(3_000)
})
