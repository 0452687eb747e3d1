import type { ChainedWorkflowEvent, WorkflowEvent, WorkflowLedgerExport } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { chainWorkflowEvent, verifyWorkflowChain, verifyWorkflowExport } from './workflow-chain.js'

const AT = '2026-01-01T00:00:00.000Z'
const HASH = 'a'.repeat(64)
const event = <T extends WorkflowEvent['type']>(type: T, body: Extract<WorkflowEvent, { type: T }>['body']) =>
  ({ type, at: AT, body }) as WorkflowEvent
const joined = (session_id: string, handoff_id: string | null = null) =>
  event('joined', { session_id, role: 'payer', handoff_id, tools: ['pay'] })
const offered = (handoff_id: string) =>
  event('handoff_offered', { handoff_id, from_session: 'a', to_role: 'payer', tools: ['pay'], expires_at: AT })
const accepted = (handoff_id: string) =>
  event('handoff_accepted', { handoff_id, to_session: 'b', labels: ['untrusted_input'] })
const held = (session_id: string, call: string, mode: 'exclusive' | 'shared' = 'exclusive') =>
  event('resources_held', { session_id, holds: [{ pending_call_id: call, key_hash: HASH, mode }] })
const released = (session_id: string, call: string) =>
  event('resources_released', { session_id, pending_call_ids: [call] })
const killed = event('killed', { by: 'client', sessions: ['a', 'b'] })

const OPENED = event('opened', { definition_hash: HASH })
const HISTORY: readonly WorkflowEvent[] = [
  OPENED,
  joined('a'),
  offered('h1'),
  joined('b', 'h1'),
  accepted('h1'),
  held('b', 'c1'),
  released('b', 'c1'),
  held('a', 'c2', 'shared'),
  held('b', 'c3', 'shared'),
  event('handoff_completed', { handoff_id: 'h1', labels: ['untrusted_input'] }),
  offered('h2'),
  event('handoff_reclaimed', { handoff_id: 'h2', cause: 'not_accepted' }),
  offered('h3'),
  killed,
  released('a', 'c2'),
  event('handoff_expired', { handoff_id: 'h3' }),
]

function exportOf(events: readonly WorkflowEvent[]): WorkflowLedgerExport {
  const chained: ChainedWorkflowEvent[] = []
  for (const one of events) chained.push(chainWorkflowEvent(chained.at(-1) ?? null, 'w', one))
  const { seq = 0, hash = '' } = chained.at(-1) ?? {}
  return { workflow_id: 'w', events: chained, next: null, head: { seq, hash } }
}

const good = exportOf(HISTORY)

/** Every copy of a value in which one leaf is another one, with the way to that leaf. */
function* oneLeafChanged(value: unknown, way: string[] = []): Generator<[string[], unknown]> {
  if (typeof value !== 'object' || value === null) {
    yield [way, typeof value === 'number' ? value + 1 : `${String(value)}x`]
    return
  }
  for (const [key, inner] of Object.entries(value)) {
    for (const [where, changed] of oneLeafChanged(inner, [...way, key])) {
      const copy = Array.isArray(value) ? [...value] : { ...value }
      yield [where, Object.assign(copy, { [key]: changed })]
    }
  }
}

describe('an exported ledger of a workflow', () => {
  test('verifies', () => {
    expect(verifyWorkflowExport(JSON.parse(JSON.stringify(good)))).toEqual({ ok: true, head: good.head })
  })

  test('shows a change of any field of any event, at that event', () => {
    let changes = 0
    for (const [index, original] of good.events.entries()) {
      for (const [way, changed] of oneLeafChanged(original)) {
        const events = good.events.with(index, changed as ChainedWorkflowEvent)
        expect(verifyWorkflowExport({ ...good, events }), way.join('.')).toMatchObject({ brokenAt: index + 1 })
        changes++
      }
    }
    expect(changes).toBeGreaterThan(HISTORY.length * 6)
  })

  test.each<[string, Partial<WorkflowLedgerExport>, number]>([
    ['another name', { workflow_id: 'v' }, 1],
    ['another head', { head: { ...good.head, hash: HASH } }, 16],
    ['a head beyond its end', { head: { ...good.head, seq: 17 } }, 17],
    ['an event left out', { events: good.events.toSpliced(4, 1) }, 5],
    ['two events in each other’s place', { events: good.events.toSpliced(4, 2, good.events[5]!, good.events[4]!) }, 5],
    ['its last event cut off', { events: good.events.slice(0, -1) }, 16],
    ['no event at all', { events: [] }, 1],
  ])('shows %s', (_, change, brokenAt) => {
    expect(verifyWorkflowExport({ ...good, ...change })).toMatchObject({ ok: false, brokenAt })
  })

  test('lets a hold end ten minutes after its session may have been killed', () => {
    const first = held('a', 'c1')
    const later = (ms: number) => ({ ...held('b', 'c2'), at: new Date(Date.parse(AT) + ms).toISOString() })
    expect(verifyWorkflowExport(exportOf([...lent, first, later(600_000)]))).toMatchObject({ ok: true })
    expect(verifyWorkflowExport(exportOf([...lent, first, later(599_999)]))).toMatchObject({ ok: false, brokenAt: 7 })
  })

  const lent = [OPENED, joined('a'), offered('h1'), joined('b', 'h1'), accepted('h1')]
  test.each<[string, readonly WorkflowEvent[], string]>([
    ['that is never opened', [joined('a')], '`opened` must be the first event and occur once'],
    ['that is opened twice', [OPENED, OPENED], '`opened` must be the first event and occur once'],
    ['whose session joins twice', [OPENED, joined('a'), joined('a')], 'joined already'],
    ['whose handoff is offered twice', [OPENED, offered('h1'), offered('h1')], 'offered already'],
    ['whose handoff has two winners', [...lent, accepted('h1')], 'accept of handoff h1, which is accepted'],
    ['whose handoff nobody offered', [OPENED, accepted('h1')], 'never offered'],
    [
      'whose handoff is completed after it was reclaimed',
      [
        ...lent,
        event('handoff_reclaimed', { handoff_id: 'h1', cause: 'holder_gone' }),
        event('handoff_completed', { handoff_id: 'h1', labels: [] }),
      ],
      'complete of handoff h1, which is reclaimed',
    ],
    [
      'in which two calls hold one thing',
      [...lent, held('a', 'c1', 'shared'), held('b', 'c2')],
      'call c1 of session a',
    ],
    ['in which work begins after the kill', [...lent, killed, held('b', 'c2')], 'after the kill'],
    ['that somebody joins after the kill', [...lent, killed, joined('c')], 'after the kill'],
  ])('shows a history %s, though its hashes are right', (_, events, problem) => {
    const exported = exportOf(events)
    expect(verifyWorkflowChain(exported.events, exported.head)).toMatchObject({ ok: true })
    const checked = verifyWorkflowExport(exported)
    expect(checked).toMatchObject({ ok: false, brokenAt: events.length })
    expect(checked.ok ? '' : checked.problem).toContain(problem)
  })
})
