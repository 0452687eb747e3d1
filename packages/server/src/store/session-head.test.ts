import { compilePlan, initialState, type SessionState } from '@countersign/engine'
import { expect, test } from 'vitest'
import { headText, textOf } from './session-head.js'
import type { SessionRow } from './sessions.js'

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

const headOf = ({ state, prepared, lastNarrowing, hasAside, ledger, lastEvent, ...row }: SessionRow) => ({
  state,
  prepared,
  lastNarrowing,
  hasAside,
  ledger,
  lastEvent,
  allowedCalls: row.allowedCalls,
  blockedCalls: row.blockedCalls,
  lastReason: row.lastReason,
  updatedAt: row.now.toISOString(),
})

test('the text of a head is its JSON, also where parts of it were written before', () => {
  const first = newState()
  const second = { ...first, stateVersion: 1, recent: [call(1)] }
  const third = { ...second, recent: [...second.recent, call(2)] }
  const fourth = { ...third, stateVersion: 2, recent: third.recent.slice(1) }
  const blocked = { lastReason: 'forbidden_tool', blockedCalls: 1, hasAside: true, lastEvent: 'proposal' }
  const narrowing = { allowed: ['a'], removed: [{ tool: 'b', reason: 'label_gate' as const }] }
  const rows = [
    ...[first, second, third, third, fourth].map((state) => rowWith(state)),
    rowWith(fourth, { ...blocked, lastNarrowing: narrowing }),
  ]
  for (const row of rows) expect(JSON.parse(headText(row))).toEqual(headOf(row))
})

test('what is not there is null', () => {
  expect(textOf(null)).toBe('null')
})
