import { afterEach, beforeEach, expect, vi } from 'vitest'
import { proves } from '../../../../../test/support/proves.js'
import { type BatchOptions, createCallBatches, type ShownCall } from '../../session/call-batches.js'
import type { SessionContext } from '../../session/core/session-context.js'
import type { TurnMaker } from '../../session/session-turn.js'
import type { GovernedSession } from '../governed-session.js'
import { claudeHooks } from './index.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function start() {
  const judged: string[] = []
  const turns = {
    prepare: async () => ({
      refusal: null,
      async propose({ calls }: { calls: readonly { id: string }[] }) {
        judged.push(...calls.map(({ id }) => id))
        return calls.map(({ id }) => ({ verdict: 'allow', callId: id }))
      },
    }),
  } as unknown as TurnMaker
  const session = {
    verdictOf: () => null,
    batches: <Call extends ShownCall>(options: BatchOptions<Call>) =>
      createCallBatches({} as SessionContext, turns, options),
  } as unknown as GovernedSession
  const { PreToolUse, PostToolUse } = claudeHooks(session)
  const call = (id: string) => ({ tool_name: 'Read', tool_use_id: id, session_id: 'q' })
  const judge = (id: string, { prompt, signal }: { prompt?: string; signal?: AbortSignal } = {}) => {
    const input = { hook_event_name: 'PreToolUse', prompt_id: prompt, ...call(id) }
    return PreToolUse[0]?.hooks[0]?.(input, id, signal && { signal })
  }
  const ended = (id: string) => PostToolUse[0]?.hooks[0]?.({ hook_event_name: 'PostToolUse', ...call(id) }, id)
  return { judge, judged, ended }
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
  const { judge, judged, ended } = start()
  void judge('long')
  await vi.advanceTimersByTimeAsync(300_000)
  void ended('long')
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
  const left = judge('left', { signal: leaving.signal })
  await vi.advanceTimersByTimeAsync(1_000)
  leaving.abort()
  void ended('first')
  expect(await left).toMatchObject({
    hookSpecificOutput: {
      permissionDecision: 'deny',
      permissionDecisionReason: 'Read did not run: it was cancelled before it was judged',
    },
  })
  void judge('next')
  await vi.advanceTimersByTimeAsync(100)
  expect(judged).toEqual(['first', 'next'])
})
