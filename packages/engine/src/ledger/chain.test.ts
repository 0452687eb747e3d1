import type { ChainedEvent, LedgerExport, LedgerHead, SessionEvent } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { compilePlan } from '../compile/compile-plan.js'
import { foldEvents } from '../state/apply-event.js'
import { chainEvent, verifyChain, verifyExport } from './chain.js'
import { GENESIS_HASH } from './verify-links.js'

const AT = '2026-01-01T00:00:00.000Z'
const compiled = compilePlan({ contracts: [{ file: 'look', value: { tool: 'look', side_effect: 'read' } }] })
if (!compiled.ok) throw new Error('the plan must compile')
const { plan, compiled_session, compiled_hash } = compiled

const EVENTS: SessionEvent[] = [
  {
    type: 'created',
    at: AT,
    body: {
      agent: null,
      environment: null,
      holder_id: 'h',
      compiled_hash,
      plan_source: 'client',
      unmatched_policy: 'block',
      capture_level: 'redacted',
      labels: [],
      has_principal: false,
      initial_phase: null,
      fence: 1,
      workflow: null,
    },
  },
  { type: 'label', at: AT, body: { label: 'a' } },
  { type: 'label', at: AT, body: { label: 'a' } },
  { type: 'tool_filter', at: AT, body: { tools: ['look'] } },
  { type: 'killed', at: AT, body: { by: 'client' } },
]

function chain(events: readonly SessionEvent[]): ChainedEvent[] {
  const chained: ChainedEvent[] = []
  for (const event of events) chained.push(chainEvent(chained.at(-1) ?? null, 's', event))
  return chained
}

const good = chain(EVENTS)
const head = { seq: 5, hash: good[4]?.hash ?? '' }
const changed = (at: number, change: Partial<ChainedEvent>) =>
  good.map((event, index) => (index === at ? { ...event, ...change } : event))

describe('the chain', () => {
  test('starts at nothing, counts without gaps and verifies', () => {
    expect(good[0]).toMatchObject({ seq: 1, prev_hash: GENESIS_HASH })
    expect(good.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
    expect(verifyChain(good, head)).toEqual({ ok: true, head })
    expect(verifyChain([])).toEqual({ ok: true, head: null })
  })

  test.each<[string, ChainedEvent[], number]>([
    ['a changed body', changed(1, { body: { label: 'b' } }), 2],
    ['a changed time', changed(2, { at: '2026-01-01T00:00:01.000Z' }), 3],
    ['a changed type', changed(3, { type: 'killed' }), 4],
    ['a changed hash', changed(3, { hash: GENESIS_HASH }), 4],
    ['a missing event', good.filter((_, at) => at !== 2), 3],
    ['a missing first event', good.slice(1), 1],
    ['two events in the wrong order', [good[1]!, good[0]!, ...good.slice(2)], 1],
    ['an event of another session', changed(4, { session_id: 't' }), 5],
    ['a truncated end', good.slice(0, 4), 5],
    ['an event after the head', [...good, chainEvent(good[4] ?? null, 's', EVENTS[1]!)], 5],
  ])('shows %s', (_, events, brokenAt) => {
    expect(verifyChain(events, head)).toMatchObject({ ok: false, brokenAt })
  })

  test('shows a body that its type does not have, though its hash is right', () => {
    const odd = chainEvent(good[4] ?? null, 's', {
      type: 'label',
      at: AT,
      body: { label: 1 },
    } as unknown as SessionEvent)
    expect(verifyChain([...good, odd])).toMatchObject({ ok: false, brokenAt: 6 })
  })

  test('shows what can have no hash in words', () => {
    const problem = expect.stringContaining('half of a surrogate pair')
    expect(verifyChain(changed(1, { body: { label: '\ud800' } }))).toEqual({ ok: false, brokenAt: 2, problem })
  })

  test('a known head with another hash is distinguished from a chain that ends elsewhere', () => {
    const problem = (known: LedgerHead) => {
      const checked = verifyChain(good, known)
      return checked.ok ? null : [checked.brokenAt, checked.problem]
    }
    expect(problem({ seq: 5, hash: GENESIS_HASH })).toEqual([5, 'event 5 does not have the hash of the known head'])
    expect(problem({ seq: 9, hash: GENESIS_HASH })).toEqual([
      6,
      'the chain ends at event 5, but the known head is event 9',
    ])
    expect(problem({ seq: -1, hash: GENESIS_HASH })).toEqual([
      1,
      'the chain ends at event 5, but the known head is event -1',
    ])
  })

  proves('guarantee.ledger-folds', 'shows another event put in its place with a right hash', () => {
    const other = chainEvent(good[0] ?? null, 's', { type: 'label', at: AT, body: { label: 'other' } })
    expect(verifyChain([good[0]!, other, ...good.slice(2)])).toMatchObject({ ok: false, brokenAt: 3 })
  })
})

describe('an export', () => {
  const state = JSON.parse(JSON.stringify(foldEvents(EVENTS, plan)))
  const exported: LedgerExport = {
    session_id: 's',
    events: good,
    next: null,
    head,
    compiled_hash,
    compiled_session,
    state,
  }

  test('verifies offline', () => {
    expect(verifyExport(JSON.parse(JSON.stringify(exported)))).toEqual({ ok: true, head })
  })

  test.each<[string, Partial<LedgerExport>, string]>([
    ['a state of another status', { state: { ...state, status: 'ACTIVE' } }, 'do not fold'],
    ['another plan', { compiled_session: { ...compiled_session, contracts: [] } }, 'does not match its hash'],
    ['no state', { state: null }, 'do not fold'],
    ['a state that cannot be written', { state: { ...state, holderId: '\ud800' } }, 'do not fold'],
    ['another name', { session_id: 't' }, 'belongs to another session'],
    ['no plan', { compiled_session: null }, 'contains no plan'],
    ['a broken chain', { events: changed(1, { body: { label: 'b' } }) }, 'does not match its hash'],
    [
      'events that cannot be folded',
      { events: chain([EVENTS[0]!, EVENTS[0]!]), head: chain([EVENTS[0]!, EVENTS[0]!])[1]! },
      'cannot be folded',
    ],
  ])('shows %s', (_, change, problem) => {
    const checked = verifyExport({ ...exported, ...change })
    expect(checked.ok ? '' : checked.problem).toContain(problem)
  })

  proves('guarantee.ledger-folds', 'shows a state that the events do not fold to', () => {
    const problem = 'the events do not fold to the stored state'
    expect(verifyExport({ ...exported, state: { ...state, labels: [] } })).toEqual({ ok: false, brokenAt: 5, problem })
  })

  test('names the event that cannot have happened, not the last one', () => {
    const events = chain([EVENTS[0]!, EVENTS[0]!, ...EVENTS.slice(1)])
    expect(verifyExport({ ...exported, events, head: events.at(-1)! })).toMatchObject({ ok: false, brokenAt: 2 })
  })

  test('shows a plan that the session was not created with', () => {
    const other = compilePlan({ contracts: [] })
    if (!other.ok) throw new Error('an empty plan compiles')
    const change = { compiled_session: other.compiled_session, compiled_hash: other.compiled_hash }
    expect(verifyExport({ ...exported, ...change })).toMatchObject({
      ok: false,
      problem: 'the session was created with another plan',
    })
  })
})
