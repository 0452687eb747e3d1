import { afterEach, beforeEach, expect, vi } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { createBodies } from './held-body.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const MB = 1024 * 1024
const DENSE = { values: 30_000, names: 3, depth: 3, bytes: 3 * MB }
const SPARSE = { values: 30, names: 3, depth: 3, bytes: 1 * MB }
/** Room for 64 MB of large bodies, as they are estimated. */
const room = () => createBodies({ heapBytes: 512 * MB, waitMs: 15_000 })

/** What became of a step: `yes`, `no`, or `waits`. */
async function outcome(step: Promise<void>): Promise<string> {
  let is = 'waits'
  step.then(
    () => {
      is = 'yes'
    },
    (problem) => {
      is = problem.code
    },
  )
  await vi.advanceTimersByTimeAsync(0)
  return is
}

const sender = (bodies: ReturnType<typeof room>) => (client: string) => bodies.of(client, new AbortController().signal)

proves(
  'gateway.fair.bodies',
  'a client holds half of the memory at most, and small bodies have their own',
  async () => {
    const of = sender(room())
    const first = of('a')
    expect(await outcome(first.beforeReading(12 * MB))).toBe('yes')
    const second = of('a').beforeReading(5 * MB)
    expect(await outcome(second)).toBe('waits')
    expect(await outcome(of('a').beforeReading(MB))).toBe('yes')
    expect(await outcome(of('b').beforeReading(16 * MB))).toBe('yes')
    first.wasRead(11 * MB)
    expect(await outcome(second)).toBe('yes')
    const late = of('c').beforeReading(2 * MB)
    const kept = outcome(late)
    expect(await kept).toBe('waits')
    first.release()
    expect(await outcome(late)).toBe('yes')
  },
)

proves('gateway.fair.bodies', 'after 15 s, or behind 64 of its client, a body is refused', async () => {
  const of = sender(room())
  await of('a').beforeReading(30 * MB)
  const waiting = Array.from({ length: 64 }, () => of('a').beforeReading(2 * MB))
  for (const one of waiting) one.catch(() => {})
  expect(await outcome(of('a').beforeReading(2 * MB))).toBe('busy')
  expect(await outcome(of('b').beforeReading(2 * MB))).toBe('yes')
  await vi.advanceTimersByTimeAsync(14_999)
  expect(await outcome(waiting[0] as Promise<void>)).toBe('waits')
  await vi.advanceTimersByTimeAsync(1)
  expect(await outcome(waiting[0] as Promise<void>)).toBe('busy')
})

proves('gateway.fair.bodies', 'clients have turns one after another, and a turn ends after a second', async () => {
  const of = sender(room())
  const begun: string[] = []
  const begin = (client: string, name: string, measure = DENSE) => {
    const body = of(client)
    void body.beforeParsing(100_000, measure).then(() => begun.push(name))
    return body
  }
  const first = begin('a', 'a1')
  for (const name of ['a2', 'a3']) begin('a', name)
  begin('b', 'b1')
  begin('b', 'sparse', SPARSE)
  await vi.advanceTimersByTimeAsync(0)
  expect(begun.sort()).toEqual(['a1', 'sparse'])
  first.passedOn()
  await vi.advanceTimersByTimeAsync(19)
  expect(begun).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(1)
  expect(begun.slice(2)).toEqual(['a2'])
  await vi.advanceTimersByTimeAsync(1_020)
  expect(begun.slice(3)).toEqual(['b1'])
  await vi.advanceTimersByTimeAsync(1_020)
  expect(begun.slice(4)).toEqual(['a3'])
})

proves('gateway.fair.bodies', 'one whose client left waits no longer', async () => {
  const bodies = room()
  const first = bodies.of('a', new AbortController().signal)
  await first.beforeReading(30 * MB)
  const leaving = new AbortController()
  const gone = bodies.of('a', leaving.signal).beforeReading(2 * MB)
  const next = bodies.of('a', new AbortController().signal).beforeReading(30 * MB)
  expect(await outcome(gone)).toBe('waits')
  leaving.abort()
  expect(await outcome(gone)).toBe('busy')
  first.release()
  expect(await outcome(next)).toBe('yes')
})
