import type { Plan, Steps } from '@countersign/engine'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import type { Context } from '../context/context.js'
import type { LoadedSession } from './change-session.js'
import { judgeInTurn } from './judge-in-turn.js'

const STEPS = 4

function* slow(note: () => void): Steps<string> {
  for (let at = 0; at < STEPS; at++) {
    const endMs = performance.now() + 10
    while (performance.now() < endMs) {}
    note()
    yield
  }
  return 'judged'
}

proves('limit.fair.under-a-lock', async () => {
  const ctx = { tenant: { tenantId: 't' }, request: { http: { bodyBytes: 10 } } } as Context
  const loaded = { plan: {} as Plan, locked: true } as LoadedSession
  let since = 0
  let longest = 0
  let isDone = false
  /** As the thread looks at its connections. */
  const look = () => {
    since = 0
    if (!isDone) setImmediate(look)
  }
  setImmediate(look)
  const note = () => {
    since += 1
    longest = Math.max(longest, since)
  }
  expect(await judgeInTurn(ctx, loaded, slow(note))).toBe('judged')
  isDone = true
  expect(longest).toBe(1)
})
