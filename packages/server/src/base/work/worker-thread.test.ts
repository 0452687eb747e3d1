import { afterEach, expect, test } from 'vitest'
import { proves } from '../../../../../test/support/proves.js'
import { ThreadClosed } from './one-thread.js'
import { createWorkerThread, TaskFailed, THREAD_LIMITS, type WorkerThread } from './worker-thread.js'

type Tasks = {
  echo: { input: string; output: string }
  /** Works for so many milliseconds. */
  work: { input: number; output: number }
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
    work: (ms) => { const end = performance.now() + ms; while (performance.now() < end); return ms },
    spin: () => { for (;;); },
    hoard: () => { const held = []; for (;;) held.push(new Array(1_000).fill(held.length)) },
    refuse: () => { throw new Error('no') },
    end: () => process.exit(),
  }
  parentPort.on('message', ({ name, input }) => {
    try { parentPort.postMessage({ ok: true, output: tasks[name](input) }) }
    catch (error) { parentPort.postMessage({ ok: false, error: error.message }) }
  })
  parentPort.postMessage('ready')
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
  expect(await thread.run('a', 'echo', 'still here')).toBe('still here')
})

const ALONE = { ...THREAD_LIMITS, second: null }

proves('limit.fair.time', 'who used the thread least comes next, however many tasks others have', async () => {
  thread = createWorkerThread<Tasks>(PROGRAM, ALONE)
  const order: string[] = []
  const run = async (tenant: string, ms: number) => {
    await thread.run(tenant, 'work', ms)
    order.push(tenant)
  }
  await Promise.all([run('a', 200), run('a', 1), run('a', 1), run('b', 20), run('b', 20), run('c', 1), run('c', 1)])
  expect(order).toEqual(['a', 'b', 'c', 'c', 'b', 'a', 'a'])
})

proves('limit.fair.time', 'who used little does not wait for the long task of another', async () => {
  thread = createWorkerThread<Tasks>(PROGRAM)
  const ended: string[] = []
  const spin = thread.run('a', 'spin', null).catch(() => ended.push('the long one'))
  for (const word of ['one', 'two']) expect(await thread.run('b', 'echo', word)).toBe(word)
  expect(ended).toEqual([])
  await thread.close()
  await spin
})

proves('limit.fair.time', 'who used much waits for the long task of another, so that little ones pass', async () => {
  thread = createWorkerThread<Tasks>(PROGRAM, {
    ...THREAD_LIMITS,
    second: { timeLimitMs: 10_000, memoryMb: 16, littleMs: 500 },
  })
  const order: string[] = []
  const run = (tenant: string, ms: number) => thread.run(tenant, 'work', ms).then(() => order.push(tenant))
  const first = [run('a', 2_500), run('b', 700)]
  await first[1]
  await Promise.all([...first, run('b', 1), run('c', 1)])
  expect(order).toEqual(['b', 'c', 'a', 'b'])
})

proves('limit.fair.time', 'what is too long or too large for the second thread is done in the first', async () => {
  const second = { timeLimitMs: 200, memoryMb: 16, littleMs: 500 }
  thread = createWorkerThread<Tasks>(PROGRAM, { ...THREAD_LIMITS, timeLimitMs: 2_000, memoryMb: 32, second })
  const tasks = [thread.run('a', 'work', 500), thread.run('b', 'work', 400), thread.run('c', 'hoard', null)]
  const [, slow, large] = await Promise.allSettled(tasks)
  expect(slow).toMatchObject({ value: 400 })
  expect(large).toMatchObject({ reason: { message: 'hoard failed: it needed more than 32 MB' } })
})

test('a tenant with too many tasks waiting is told so, and the others are not', async () => {
  thread = createWorkerThread<Tasks>(PROGRAM, { ...ALONE, waitingPerTenant: 2 })
  const accepted = [thread.run('a', 'echo', '1'), thread.run('a', 'echo', '2'), thread.run('a', 'echo', '3')]
  await expect(thread.run('a', 'echo', '4')).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  expect(await thread.run('b', 'echo', 'b')).toBe('b')
  expect(await Promise.all(accepted)).toEqual(['1', '2', '3'])
})

test('closing fails the task that runs and those that wait, and starts no other', async () => {
  thread = createWorkerThread<Tasks>(PROGRAM)
  const tasks = ['a', 'b', 'c'].map((tenant) => thread.run(tenant, 'spin', null))
  const ended = Promise.allSettled(tasks)
  await thread.close()
  for (const { status, reason } of (await ended) as PromiseRejectedResult[]) {
    expect([status, reason instanceof ThreadClosed]).toEqual(['rejected', true])
  }
  await expect(thread.run('a', 'echo', 'late')).rejects.toThrow(ThreadClosed)
})
