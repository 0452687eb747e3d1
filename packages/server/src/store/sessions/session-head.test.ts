import { compilePlan, initialState, type SessionState } from '@countersign/engine'
import { expect, test } from 'vitest'
import { changedParts, factsText, HEAD_PARTS, partTexts } from './session-head.js'
import type { SessionRow } from './session-row.js'

const HASH = 'a'.repeat(64)
const NOW = new Date('2026-01-01T00:00:00.010Z')

function newState(): SessionState {
  const compiled = compilePlan({ contracts: [{ file: 'x', value: { tool: 'refund' } }] })
  if (!compiled.ok) throw new Error('it must compile')
  return initialState(compiled.plan, {
    type: 'created',
    at: NOW.toISOString(),
    body: {
      agent: 'a "quoted" agent',
      environment: null,
      holder_id: 'h',
      compiled_hash: HASH,
      plan_source: 'client',
      unmatched_policy: 'block',
      capture_level: 'redacted',
      labels: ['pii'],
      has_principal: false,
      initial_phase: null,
      fence: 1,
      workflow: null,
    },
  })
}

const call = (id: number) => ({ id: `call_${id}`, tool: `tool "${id}"`, hash: HASH })

const rowWith = (state: SessionState, more: Partial<SessionRow> = {}): SessionRow => ({
  tenantId: 't',
  sessionId: 's',
  stamp: HASH,
  leaseUntil: NOW,
  compiledHash: HASH,
  planSource: 'client',
  unmatchedPolicy: 'block',
  captureLevel: 'redacted',
  environment: null,
  principal: null,
  hashSalt: 'salt',
  state,
  lastNarrowing: null,
  prepared: null,
  hasAside: false,
  ledger: { seq: 7, hash: HASH },
  lastEvent: 'receipts',
  allowedCalls: 3,
  blockedCalls: 0,
  lastReason: null,
  workflowId: null,
  role: null,
  bodyHash: HASH,
  createdAt: NOW,
  now: NOW,
  ...more,
})

test('the text of the facts is their JSON', () => {
  const blocked = { lastReason: 'forbidden_tool', blockedCalls: 1, hasAside: true, lastEvent: 'proposal' }
  for (const row of [rowWith(newState()), rowWith(newState(), blocked)]) {
    const { hasAside, ledger, lastEvent, allowedCalls, blockedCalls, lastReason } = row
    const updatedAt = NOW.toISOString()
    expect(JSON.parse(factsText(row))).toEqual({
      ...{ hasAside, ledger, lastEvent, allowedCalls, blockedCalls, lastReason, updatedAt },
    })
  }
})

test('the parts hold all the rest, the recent calls apart from the state, and what is not there is null', () => {
  const state = { ...newState(), recent: [call(1), call(2)] }
  const narrowing = { allowed: ['a'], removed: [{ tool: 'b', reason: 'label_gate' as const }] }
  const { state: stored, recent, ...rest } = partTexts(rowWith(state, { lastNarrowing: narrowing }), HEAD_PARTS)
  expect(JSON.parse(stored ?? '')).not.toHaveProperty('recent')
  expect({ ...JSON.parse(stored ?? ''), recent: JSON.parse(recent ?? '') }).toEqual(state)
  expect(rest).toEqual({ prepared: null, narrowing: JSON.stringify(narrowing) })
})

test('a write changes the parts that are other values than before', () => {
  const state = { ...newState(), recent: [call(1)] }
  const before = rowWith(state)
  expect(changedParts(before, { ...before, stamp: 'b' })).toEqual([])
  expect(changedParts(before, { ...before, state: { ...state, stateVersion: 2 } })).toEqual(['state'])
  expect(changedParts(before, { ...before, state: { ...state, recent: [] } })).toEqual(['state', 'recent'])
  const lastNarrowing = { allowed: [], removed: [] }
  expect(changedParts(before, { ...before, lastNarrowing })).toEqual(['narrowing'])
  expect(partTexts(rowWith(state), ['recent'])).toEqual({ recent: JSON.stringify(state.recent) })
})
