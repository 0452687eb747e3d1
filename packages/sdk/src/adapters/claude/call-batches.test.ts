import { afterEach, beforeEach, expect, vi } from 'vitest'
import { proves } from '../../../../../test/support/proves.js'
import type { GovernedSession } from '../governed-session.js'
import { createCallBatches } from './call-batches.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function start() {
  const judged: string[] = []
  const session = {
    prepare: async () => ({
      refusal: null,
      async propose({ calls }: { calls: readonly { id: string }[] }) {
        judged.push(...calls.map(({ id }) => id))
        return calls.map(({ id }) => ({ verdict: 'allow', callId: id }))
      },
    }),
  } as unknown as GovernedSession
  const batches = createCallBatches(session, 'claude')
  const judge = (id: string, more: { prompt?: string; signal?: AbortSignal } = {}) =>
    batches.judge({ id, name: 'Read', arguments: {}, query: 'q', agent: '', prompt: '', ...more })
  return { ...batches, judge, judged }
}

proves('gateway.hooks.no-outcome', 'a call of which nothing is heard holds up others for 30 seconds', async () => {
  const { judge, judged } = start()
  void judge('refused')
  await vi.advanceTimersByTimeAsync(5_000)
  void judge('next')
  await vi.advanceTimersByTimeAsync(24_900)
  expect(judged).toEqual(['refused'])
  await vi.advanceTimersByTimeAsync(200)
  expect(judged).toEqual(['refused', 'next'])
})

proves('gateway.hooks.no-outcome', 'one that ran longer than that has its outcome, and holds up none', async () => {
  const { judge, judged, isOpen, ended } = start()
  void judge('long')
  await vi.advanceTimersByTimeAsync(300_000)
  expect(isOpen('long')).toBe(true)
  ended('long')
  void judge('next')
  await vi.advanceTimersByTimeAsync(100)
  expect(judged).toEqual(['long', 'next'])
  expect(vi.getTimerCount()).toBe(1)
})

proves('gateway.hooks.no-outcome', 'a call for a later prompt waits for none of an earlier one', async () => {
  const { judge, judged } = start()
  void judge('refused', { prompt: 'p1' })
  await vi.advanceTimersByTimeAsync(100)
  void judge('next', { prompt: 'p2' })
  await vi.advanceTimersByTimeAsync(100)
  expect(judged).toEqual(['refused', 'next'])
})

proves('gateway.hooks.no-outcome', 'a call that nobody waits for is not judged, and holds up none', async () => {
  const { judge, judged, ended } = start()
  void judge('first')
  await vi.advanceTimersByTimeAsync(100)
  const leaving = new AbortController()
  const left = judge('left', { signal: leaving.signal }).catch((error: Error) => error.message)
  await vi.advanceTimersByTimeAsync(1_000)
  leaving.abort()
  ended('first')
  expect(await left).toBe('the verdict was not waited for')
  void judge('next')
  await vi.advanceTimersByTimeAsync(100)
  expect(judged).toEqual(['first', 'next'])
})
