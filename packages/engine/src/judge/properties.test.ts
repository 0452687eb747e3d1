import type { JsonObject, JsonValue, Outcome, Receipt, SessionEvent } from '@countersign/protocol'
import { OUTCOMES } from '@countersign/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compilePlan } from '../compile/compile-plan.js'
import type { Plan } from '../contract/plan.js'
import { readResponse } from '../response/read-response.js'
import { applyEvent, foldEvents } from '../state/apply-event.js'
import { initialState } from '../state/session-start.js'
import type { SessionState } from '../state/state.js'
import { evaluateProposal } from './evaluate-proposal.js'
import { narrowTools } from './narrow.js'
import { judgeInputInvariants, readInputValues } from './preflight.js'
import { judgeReceipts } from './receipts.js'
import { validateResponse } from './validate.js'

const AT = '2026-01-01T00:00:00.000Z'
const SALT = 'salt'
const NOTHING = '0'.repeat(64)
const TOOLS = ['look', 'pay', 'close', 'ship', 'ask', '__proto__']

const compiled = compilePlan({
  contracts: [
    {
      tool: 'look',
      side_effect: 'read',
      binds: [{ name: 'id', path: '$.id' }],
      establishes: [{ name: 'q', path: '$.q' }],
      labels: { adds: ['seen'] },
    },
    {
      tool: 'pay',
      argument_value_invariants: [{ path: '$..amount', lte: 50 }],
      aggregates: [{ name: 'paid', path: '$.amount', function: 'sum', lte: 100 }],
      labels: { deny_when: ['untrusted'] },
      assertions: {
        output_invariants: [{ path: '$.tool_calls', length_lte: 3 }],
        input_invariants: [{ path: '$.model', type: 'string' }],
      },
    },
    { tool: 'close', forbids_after: ['pay'], transitions: { valid_in_phases: ['open'], advances_to: 'shut' } },
    {
      tool: 'ship',
      evidence_class: 'local_transaction' as const,
      preconditions: [{ requires_prior_tool: 'look', same: [{ path: '$.id', as: '$.id' }] }],
      refs: [{ path: '$.id', ref: 'id' }],
      envelopes: [{ name: 'q', path: '$.amount', direction: 'within' as const, tolerance_percent: 5 }],
      aggregates: [{ name: 'paid', path: '$.amount', function: 'sum' as const, lte: 100 }],
      resources: [{ key: 'order:{$.id}' }],
    },
    { tool: 'ask', checkpoint: { reason: 'r' }, sources: [{ path: '$.to', from: ['user' as const] }] },
    { tool: '__proto__' },
  ].map((value) => ({ file: value.tool, value })),
  session: {
    file: 'session',
    value: {
      phases: [
        { name: 'open', initial: true },
        { name: 'shut', terminal: true },
      ],
      transitions: { open: ['shut'] },
      session_limits: {
        max_tool_calls: 12,
        max_calls_per_tool: { look: 4 },
        max_calls_per_minute: 100,
        loop_detection: { window: 6, threshold: 3 },
      },
      risk_defaults: { destructive: 'block' },
      pricing: { '*': { input: 1, output: 2 } },
    },
  },
})
if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors))
const plan: Plan = compiled.plan

const CREATED: Extract<SessionEvent, { type: 'created' }> = {
  type: 'created',
  at: AT,
  body: {
    agent: null,
    environment: null,
    holder_id: 'h',
    compiled_hash: plan.hash,
    plan_source: 'client',
    unmatched_policy: 'block',
    capture_level: 'redacted',
    labels: [],
    has_principal: false,
    initial_phase: 'open',
    fence: 1,
    workflow: null,
  },
}
const fresh = initialState(plan, CREATED)

let proposals = 0
function judge(state: SessionState, response: unknown, gate: 'reject_all' | 'strip_blocked' = 'strip_blocked') {
  const proposalId = `p${++proposals}`
  const inputFailures = judgeInputInvariants({ plan, state, salt: SALT }, readInputValues(plan, { model: 'm' }))
  const about = { plan, state, unmatchedPolicy: 'block', agent: null } as const
  const verdict = evaluateProposal({
    ...about,
    response: readResponse(response),
    gate,
    salt: SALT,
    nowMs: Date.parse(AT),
    offered: null,
    toolless: false,
    inputFailures,
    ids: { sessionId: 's', proposalId, pendingCallId: (index) => `${proposalId}.${index}` },
  })
  const event: SessionEvent = {
    type: 'proposal',
    at: AT,
    body: { ...verdict.event, prepared_request_id: proposalId, prepared_digest: NOTHING },
  }
  return { verdict, event }
}

const amount = fc.oneof(fc.integer({ min: 0, max: 60 }), fc.constantFrom(0.1, 0.2, 49.99, -1))
const id = fc.constantFrom('a', 'b')
const args: fc.Arbitrary<JsonObject> = fc.record({ amount, id }, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>
const call = fc.record({ name: fc.constantFrom(...TOOLS, 'unknown'), args })
const calls = fc.array(call, { minLength: 1, maxLength: 4 })
const end = fc.record({
  outcome: fc.constantFrom(...OUTCOMES),
  evidence: fc.constantFrom('reported' as const, 'executed' as const),
  result: fc.record({ id, q: fc.constantFrom(10, 20) }),
})
type Call = { name: string; args: JsonObject }
type End = { outcome: Outcome; evidence: 'reported' | 'executed'; result: JsonObject }

const responseOf = (list: readonly Call[]) => ({
  tool_calls: list.map((item, at) => ({ id: `c${at}`, name: item.name, arguments: JSON.stringify(item.args) })),
})

/** One turn: proposal, and a receipt for every registered call. */
function turn(state: SessionState, list: readonly Call[], ends: readonly End[], events: SessionEvent[]): SessionState {
  const { verdict, event } = judge(state, responseOf(list))
  events.push(event)
  let next = applyEvent(state, event, plan)
  const receipts = verdict.decisions.flatMap((decision, at): Receipt[] => {
    const { outcome, evidence, result } = ends[at % ends.length] as End
    if (decision.pending_call_id === null || decision.argument_hash === null) return []
    const shown = evidence === 'executed' ? { result_hash: NOTHING, started_at: AT, finished_at: AT } : {}
    const outputs: Record<string, JsonValue> = { '$.id': result.id ?? null, '$.q': result.q ?? null }
    const about = { pending_call_id: decision.pending_call_id, argument_hash: decision.argument_hash }
    return [{ ...about, outcome, evidence_level: evidence, ...shown, outputs }]
  })
  if (receipts.length === 0) return next
  const judged = judgeReceipts({ plan, state: next, receipts, fence: 1, salt: SALT, at: AT })
  const resolved: SessionEvent = { type: 'receipts', at: AT, body: judged.event }
  events.push(resolved)
  next = applyEvent(next, resolved, plan)
  expect(next.stateVersion).toBe(state.stateVersion + (judged.event.committed ? 1 : 0))
  return next
}

const history = fc.array(fc.tuple(calls, fc.array(end, { minLength: 1, maxLength: 3 })), { maxLength: 6 })
type History = [Call[], End[]][]

function play(steps: History): { state: SessionState; events: SessionEvent[] } {
  const events: SessionEvent[] = [CREATED]
  const state = steps.reduce((now, [list, ends]) => turn(now, list, ends, events), fresh)
  return { state, events }
}

const blockedOf = (state: SessionState, list: readonly Call[]) =>
  judge(state, responseOf(list)).verdict.decisions.map(({ decision }) => decision === 'block')

/** For more than repeating itself: what is a loop in a short memory is none any more when enough came between. */
const isBlockedForGood = (state: SessionState, one: Call) =>
  judge(state, responseOf([one])).verdict.decisions.some(({ reasons }) =>
    reasons.some(({ reason }) => reason !== 'loop_detected'),
  )

describe('whatever comes', () => {
  test('evaluation answers and does not throw', () => {
    const anything = fc.oneof(fc.jsonValue(), fc.anything())
    const shaped = fc.record({
      tool_calls: fc.array(
        fc.record({
          id: fc.oneof(fc.string(), anything),
          name: fc.oneof(fc.constantFrom(...TOOLS), fc.string()),
          arguments: fc.oneof(fc.json(), fc.string(), anything),
        }),
        { maxLength: 5 },
      ),
    })
    fc.assert(
      fc.property(fc.oneof(anything, shaped), (response) => {
        const { verdict, event } = judge(fresh, response)
        const next = applyEvent(fresh, event, plan)
        expect(next.open === null).toBe(verdict.decisions.every(({ pending_call_id: pending }) => pending === null))
        for (const decision of verdict.decisions) {
          expect(decision.decision === 'block').toBe(decision.reasons.length > 0)
          expect(decision.remedy === null).toBe(decision.decision === 'allow')
        }
        validateResponse(response, plan, { unmatched: 'deny' })
      }),
      { numRuns: 300 },
    )
  })

  test('the events fold to the stored state', () => {
    fc.assert(
      fc.property(history, (steps) => {
        const { state, events } = play(steps as History)
        expect(foldEvents(events, plan)).toEqual(state)
        expect(foldEvents(JSON.parse(JSON.stringify(events)), plan)).toEqual(JSON.parse(JSON.stringify(state)))
      }),
      { numRuns: 60 },
    )
  })

  test('a label never allows what was blocked, and never adds a tool', () => {
    fc.assert(
      fc.property(history, calls, fc.constantFrom('untrusted', 'seen', 'other'), (steps, list, label) => {
        const { state } = play(steps as History)
        const labelled = applyEvent(state, { type: 'label', at: AT, body: { label } }, plan)
        neverMore(state, labelled, list as Call[])
      }),
      { numRuns: 60 },
    )
  })

  test('a filter never allows what was blocked, and never adds a tool', () => {
    fc.assert(
      fc.property(history, calls, fc.subarray(TOOLS), (steps, list, tools) => {
        const { state } = play(steps as History)
        const filtered = applyEvent(state, { type: 'tool_filter', at: AT, body: { tools } }, plan)
        neverMore(state, filtered, list as Call[])
      }),
      { numRuns: 60 },
    )
  })

  test('history that widens nothing never allows what was blocked', () => {
    const useless = fc.array(
      fc.tuple(calls, fc.constant<End[]>([{ outcome: 'failed', evidence: 'executed', result: {} }])),
      { maxLength: 4 },
    )
    fc.assert(
      fc.property(history, useless, call, (steps, more, one) => {
        const { state } = play(steps as History)
        const longer = (more as History)
          .filter(([list]) => list.every(({ name }) => name !== 'ship'))
          .reduce((now, [list, ends]) => turn(now, list, ends, []), state)
        if (isBlockedForGood(state, one as Call)) expect(blockedOf(longer, [one as Call])).toEqual([true])
      }),
      { numRuns: 80 },
    )
  })

  test('earlier calls of the same response never allow what was blocked', () => {
    fc.assert(
      fc.property(history, calls, call, (steps, before, one) => {
        const { state } = play(steps as History)
        const behind = blockedOf(state, [...(before as Call[]), one as Call]).at(-1)
        if (isBlockedForGood(state, one as Call)) expect(behind).toBe(true)
      }),
      { numRuns: 80 },
    )
  })

  test('only not_executed, and a failure that was rolled back, give a budget back', () => {
    fc.assert(
      fc.property(history, calls, end, (steps, list, how) => {
        const { state } = play(steps as History)
        const { verdict, event } = judge(state, responseOf(list as Call[]))
        const pending = applyEvent(state, event, plan)
        const after = turn(state, list as Call[], [how as End], [])
        const registered = verdict.event.calls.filter(({ pending_call_id: id }) => id !== null)
        const released = registered.filter(
          (item) => how.outcome === 'not_executed' || (how.outcome === 'failed' && item.rolls_back),
        )
        expect(after.usedCalls).toBe(pending.usedCalls - released.length)
        const sum = (of: SessionState) => Number(of.aggregates.paid ?? 0)
        const back = released.reduce((total, item) => total + Number(item.amounts.paid ?? 0), 0)
        expect(sum(after)).toBeCloseTo(sum(pending) - back, 9)
        expect(Object.values(after.used).reduce((total, count) => total + count, 0)).toBe(after.usedCalls)
      }),
      { numRuns: 80 },
    )
  })

  test('the state stays small however long the session is', () => {
    const steps = Array.from({ length: 300 }, (_, at): [Call[], End[]] => [
      [{ name: at % 2 === 0 ? 'look' : 'close', args: { n: at } }],
      [{ outcome: 'not_executed', evidence: 'executed', result: {} }],
    ])
    const size = (count: number) => JSON.stringify(play(steps.slice(0, count)).state).length
    expect(size(300)).toBeLessThan(size(150) + 50)
  })
})

function neverMore(before: SessionState, after: SessionState, list: readonly Call[]): void {
  const was = list.map((item) => blockedOf(before, [item])[0])
  const is = list.map((item) => blockedOf(after, [item])[0])
  was.forEach((blocked, at) => {
    if (blocked) expect(is[at]).toBe(true)
  })
  const about = {
    plan,
    tools: TOOLS.map((name) => ({ name })),
    unmatchedPolicy: 'block',
    agent: null,
    nowMs: 0,
  } as const
  const left = narrowTools({ ...about, state: before }).allowed
  expect(narrowTools({ ...about, state: after }).allowed.filter((tool) => !left.includes(tool))).toEqual([])
}
