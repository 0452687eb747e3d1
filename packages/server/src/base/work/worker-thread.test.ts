import { afterEach, expect, test } from 'vitest'
import { createWorkerThread, TaskFailed, THREAD_LIMITS, ThreadClosed, type WorkerThread } from './worker-thread.js'

type Tasks = {
  echo: { input: string; output: string }
  spin: { input: null; output: never }
  hoard: { input: null; output: never }
  refuse: { input: null; output: never }
  end: { input: null; output: never }
}

const PROGRAM = new URL(
  `data:text/javascript,${encodeURIComponent(`
  import { parentPort } from 'node:worker_threads'
  const tasks = {
    echo: (text) => text,
    spin: () => { for (;;); },
    hoard: () => { const held = []; for (;;) held.push(new Array(1_000).fill(held.length)) },
    refuse: () => { throw new Error('no') },
    end: () => process.exit(),
  }
  parentPort.on('message', ({ name, input }) => {
    try { parentPort.postMessage({ ok: true, output: tasks[name](input) }) }
    catch (error) { parentPort.postMessage({ ok: false, error: error.message }) }
  })
`)}`,
)

let thread: WorkerThread<Tasks>
afterEach(() => thread.close())

test.each([
  ['takes too long', 'spin', 'spin failed: it took longer than 0.5 seconds'],
  ['needs too much memory', 'hoard', 'hoard failed: it needed more than 16 MB'],
  ['throws', 'refuse', 'refuse failed: no'],
  ['ends its thread', 'end', 'end failed: its thread ended'],
] as const)('a task that %s fails alone: the next one is done', async (_, name, message) => {
  const timeLimitMs = name === 'spin' ? 500 : 60_000
  thread = createWorkerThread<Tasks>(PROGRAM, { ...THREAD_LIMITS, timeLimitMs, memoryMb: 16 })
  const failed = thread.run('a', name, null)
  await expect(failed).rejects.toThrow(TaskFailed)
  await expect(failed).rejects.toThrow(message)
  // A machine that is busy may need longer than half a second to start a thread.
  const next = (): Promise<string> => thread.run('a', 'echo', 'still here').catch(next)
  expect(await next()).toBe('still here')
})

test('tenants take turns, however many tasks one of them has', async () => {
  thread = createWorkerThread<Tasks>(PROGRAM)
  const order: string[] = []
  const run = (tenant: string, text: string) => thread.run(tenant, 'echo', text).then((done) => order.push(done))
  await Promise.all([run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('b', 'b1'), run('b', 'b2'), run('c', 'c1')])
  expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2'])
})

test('a tenant with too many tasks waiting is told so, and the others are not', async () => {
  thread = createWorkerThread<Tasks>(PROGRAM, { ...THREAD_LIMITS, waitingPerTenant: 2 })
  const accepted = [thread.run('a', 'echo', '1'), thread.run('a', 'echo', '2'), thread.run('a', 'echo', '3')]
  await expect(thread.run('a', 'echo', '4')).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  expect(await thread.run('b', 'echo', 'b')).toBe('b')
  expect(await Promise.all(accepted)).toEqual(['1', '2', '3'])
})

test('closing fails the task that runs and those that wait, and starts no other', async () => {
  thread = createWorkerThread<Tasks>(PROGRAM)
  const tasks = [thread.run('a', 'spin', null), thread.run('b', 'echo', 'b')]
  const ended = Promise.allSettled(tasks)
  await thread.close()
  for (const { status, reason } of (await ended) as PromiseRejectedResult[]) {
    expect([status, reason instanceof ThreadClosed]).toEqual(['rejected', true])
  }
  await expect(thread.run('a', 'echo', 'late')).rejects.toThrow(ThreadClosed)
})
