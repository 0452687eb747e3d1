import { compilePlan, initialState, type SessionState } from '@countersign/engine'
import { expect, test } from 'vitest'
import { factsText, stateText, textOf } from './session-head.js'
import type { SessionHead } from './session-row.js'

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

const headWith = (state: SessionState, more: Partial<SessionHead> = {}): SessionHead => ({
  revision: HASH,
  leaseUntil: NOW,
  state,
  lastNarrowing: null,
  prepared: null,
  hasSuperseded: false,
  leaseMs: 120_000,
  ledger: { seq: 7, hash: HASH },
  lastEvent: 'receipts',
  allowedCalls: 3,
  blockedCalls: 0,
  lastReason: null,
  ...more,
})

test('the text of the facts is their JSON, whatever the words are', () => {
  const blocked = { lastReason: 'forbidden_tool' as const, blockedCalls: 1, hasSuperseded: true, lastEvent: 'a "word"' }
  for (const head of [headWith(newState()), headWith(newState(), blocked)]) {
    const { hasSuperseded, leaseMs, ledger, lastEvent, allowedCalls, blockedCalls, lastReason } = head
    const updatedAt = NOW.toISOString()
    expect(JSON.parse(factsText(head, NOW))).toEqual({
      ...{ hasSuperseded, leaseMs, ledger, lastEvent, allowedCalls, blockedCalls, lastReason, updatedAt },
      shown: { phase: null, labels: ['pii'], stateVersion: 0, actualCost: '0', inDoubt: 0, unresolved: 0 },
    })
  }
})

test('the facts count the calls of the open step', () => {
  const calls = ['pending', 'in_doubt', 'resolved', 'in_doubt'].map((state) => ({ state }))
  const state = { ...newState(), open: { calls } } as unknown as SessionState
  expect(JSON.parse(factsText(headWith(state), NOW)).shown).toMatchObject({ inDoubt: 2, unresolved: 3 })
})

test('the text of a state is without its recent calls', () => {
  const state = { ...newState(), recent: [call(1), call(2)] }
  const stored = JSON.parse(stateText(state))
  expect(stored).not.toHaveProperty('recent')
  expect({ ...stored, recent: JSON.parse(textOf(state.recent)) }).toEqual(state)
})
