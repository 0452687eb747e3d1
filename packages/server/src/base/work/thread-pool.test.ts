import { afterEach, expect, test } from 'vitest'
import { proves } from '../../../../../test/support/proves.js'
import { ThreadClosed } from './one-thread.js'
import { createThreadPool, type PoolLimits, TaskFailed, type ThreadPool } from './thread-pool.js'

type Tasks = {
  echo: { input: string; output: string }
  /** Works for so many milliseconds. */
  work: { input: number; output: number }
  /** Waits for so many milliseconds. */
  wait: { input: number; output: number }
  /** Says that it writes, and never ends. */
  write: { input: null; output: never }
  /** Holds so many numbers for good. */
  keep: { input: number; output: number }
  spin: { input: null; output: never }
  hoard: { input: null; output: never }
  refuse: { input: null; output: never }
  end: { input: null; output: never }
}

const PROGRAM = new URL(
  `data:text/javascript,${encodeURIComponent(`
  import { readlinkSync } from 'node:fs'
  import { parentPort } from 'node:worker_threads'
  const kept = []
  const spin = () => { for (;;); }
  const tasks = {
    echo: (text) => text,
    work: (ms) => { const end = performance.now() + ms; while (performance.now() < end); return ms },
    wait: (ms) => new Promise((done) => setTimeout(done, ms, ms)),
    write: () => { parentPort.postMessage('writes'); spin() },
    keep: (count) => { kept.push(Array.from({ length: count }, (_, at) => at + 0.5)); return kept.length },
    spin,
    hoard: () => { const held = []; for (;;) held.push(new Array(1_000).fill(held.length)) },
    refuse: () => { throw new Error('no') },
    end: () => process.exit(),
  }
  parentPort.on('message', async ({ name, input }) => {
    try { parentPort.postMessage({ ok: true, output: await tasks[name](input) }) }
    catch (error) { parentPort.postMessage({ ok: false, error: error.message }) }
  })
  let times = null
  try { times = '/proc/' + readlinkSync('/proc/thread-self') + '/schedstat' } catch {}
  parentPort.postMessage({ readyWithTimes: times })
`)}`,
)

const LIMITS: PoolLimits = {
  what: 'tasks of this tenant',
  threads: 1,
  timeLimitMs: 10_000,
  memoryMb: 32,
  waitingPerTenant: 16,
  waitingInAll: 64,
}

let pool: ThreadPool<Tasks>
const start = (limits: Partial<PoolLimits> = {}) => {
  pool = createThreadPool<Tasks>(PROGRAM, { ...LIMITS, ...limits })
}
afterEach(() => pool.close())

for (const [what, name, message] of [
  ['takes too long', 'spin', 'spin failed: it took longer than 0.5 seconds'],
  ['needs too much memory', 'hoard', 'hoard failed: it needed more than 16 MB'],
  ['throws', 'refuse', 'refuse failed: no'],
  ['ends its thread', 'end', 'end failed: its thread ended'],
] as const) {
  proves('isolation.deadline', `a task that ${what} fails alone: the next one is done`, async () => {
    start({ timeLimitMs: name === 'spin' ? 500 : 60_000, memoryMb: 16 })
    const failed = pool.run('a', name, null)
    await expect(failed).rejects.toThrow(TaskFailed)
    await expect(failed).rejects.toThrow(message)
    expect(await pool.run('a', 'echo', 'still here')).toBe('still here')
  })
}

proves(
  'isolation.deadline',
  'waiting does not count: a task of two seconds ends under a limit of half a second',
  async () => {
    start({ timeLimitMs: 500 })
    expect(await pool.run('a', 'wait', 2_000)).toBe(2_000)
  },
)

proves('isolation.written', 'whether a task had begun to write is known of one that was given up', async () => {
  start({ timeLimitMs: 300 })
  await expect(pool.run('a', 'write', null)).rejects.toMatchObject({ hasWritten: true })
  await expect(pool.run('a', 'spin', null)).rejects.toMatchObject({ hasWritten: false })
})

proves(
  'isolation.memory',
  'what others left in a thread is not the fault of the next: it is tried once more alone',
  async () => {
    start({ memoryMb: 48 })
    expect(await pool.run('a', 'keep', 2_000_000)).toBe(1)
    expect(await pool.run('a', 'keep', 2_000_000)).toBe(2)
    expect(await pool.run('b', 'keep', 3_000_000)).toBe(1)
    await expect(pool.run('a', 'hoard', null)).rejects.toThrow('hoard failed: it needed more than 48 MB')
  },
)

proves('limit.fair.time', 'who used the threads least comes next, however many tasks others have', async () => {
  start()
  const order: string[] = []
  const run = async (tenant: string, ms: number) => {
    await pool.run(tenant, 'work', ms)
    order.push(tenant)
  }
  await Promise.all([run('a', 800), run('a', 1), run('a', 1), run('b', 400), run('b', 1), run('c', 1), run('c', 1)])
  expect(order).toEqual(['a', 'b', 'c', 'c', 'b', 'a', 'a'])
})

proves('limit.fair.time', 'nobody has all threads: others do not wait for the long tasks of one', async () => {
  start({ threads: 2 })
  const long = [pool.run('a', 'spin', null), pool.run('a', 'spin', null)].map((task) => task.catch(() => 'closed'))
  for (const word of ['one', 'two']) expect(await pool.run('b', 'echo', word)).toBe(word)
  await pool.close()
  expect(await Promise.all(long)).toEqual(['closed', 'closed'])
})

proves('limit.fair.refused', 'a tenant with too many tasks waiting is told so, and the others are not', async () => {
  start({ waitingPerTenant: 2 })
  const accepted = [pool.run('a', 'echo', '1'), pool.run('a', 'echo', '2'), pool.run('a', 'echo', '3')]
  await expect(pool.run('a', 'echo', '4')).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  expect(await pool.run('a', 'echo', 'owed', { isAdmitted: true })).toBe('owed')
  expect(await pool.run('b', 'echo', 'b')).toBe('b')
  expect(await Promise.all(accepted)).toEqual(['1', '2', '3'])
})

test('closing fails the task that runs and those that wait, and starts no other', async () => {
  start()
  const tasks = ['a', 'b', 'c'].map((tenant) => pool.run(tenant, 'spin', null))
  const ended = Promise.allSettled(tasks)
  await pool.close()
  for (const { status, reason } of (await ended) as PromiseRejectedResult[]) {
    expect([status, reason instanceof ThreadClosed]).toEqual(['rejected', true])
  }
  await expect(pool.run('a', 'echo', 'late')).rejects.toThrow(ThreadClosed)
})
