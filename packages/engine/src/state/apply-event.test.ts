import type { Receipt, SessionEvent } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { compilePlan } from '../compile/compile-plan.js'
import { evaluateProposal } from '../judge/evaluate-proposal.js'
import { checkPreflight } from '../judge/preflight.js'
import { judgeReceipts } from '../judge/receipts.js'
import { readResponse } from '../response/read-response.js'
import { applyEvent, foldEvents } from './apply-event.js'
import { initialState } from './session-start.js'
import type { SessionState } from './state.js'

const AT = '2026-01-01T00:00:00.000Z'
const compiled = compilePlan({
  contracts: [
    {
      file: 'look',
      value: { tool: 'look', side_effect: 'read', labels: { adds: ['seen'] }, timeouts: { total_ms: 5_000 } },
    },
    {
      file: 'pay',
      value: { tool: 'pay', checkpoint: { reason: 'r', timeout_seconds: 60 }, timeouts: { total_ms: 1_000 } },
    },
  ],
  session: {
    file: 's',
    value: {
      session_limits: {
        max_steps: 3,
        max_tool_calls: 5,
        max_cost_per_session: 2,
        max_calls_per_tool: { look: 2 },
        max_calls_per_minute: 4,
      },
      pricing: { '*': { input: 1, output: 1 } },
    },
  },
})
if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors))
const { plan } = compiled

const created = (workflow: null | { tools: string[] }): Extract<SessionEvent, { type: 'created' }> => ({
  type: 'created',
  at: AT,
  body: {
    agent: 'a',
    environment: null,
    holder_id: 'h1',
    compiled_hash: plan.hash,
    plan_source: 'client',
    unmatched_policy: 'block',
    capture_level: 'redacted',
    labels: ['x', 'x'],
    has_principal: false,
    initial_phase: null,
    fence: 3,
    workflow: workflow && { workflow_id: 'w', role: 'r', handoff_id: null, tools: workflow.tools },
  },
})
const fresh = initialState(plan, created(null))
const apply = (state: SessionState, type: SessionEvent['type'], body: unknown) =>
  applyEvent(state, { type, at: AT, body } as SessionEvent, plan)

function propose(state: SessionState, ...names: string[]) {
  const calls = names.map((name, at) => ({ id: `c${at}`, name, arguments: JSON.stringify({ at }) }))
  const verdict = evaluateProposal({
    plan,
    state,
    response: readResponse({ tool_calls: calls }),
    gate: 'reject_all',
    unmatchedPolicy: 'block',
    agent: 'a',
    salt: 's',
    nowMs: Date.parse(AT),
    offered: null,
    toolless: false,
    ids: { sessionId: 'S', proposalId: 'p', pendingCallId: (index) => `p.${index}` },
    usage: { input_tokens: 500_000, output_tokens: 0 },
  })
  const body = { ...verdict.event, prepared_request_id: 'r', prepared_digest: '0'.repeat(64) }
  return { verdict, state: apply(state, 'proposal', body) }
}

function receipts(state: SessionState, fence: number, ...changes: (Partial<Receipt> & { at: number })[]) {
  const list = changes.map(
    ({ at, ...change }): Receipt => ({
      pending_call_id: `p.${at}`,
      outcome: 'succeeded',
      evidence_level: 'reported',
      argument_hash: state.open?.calls[at]?.argument_hash ?? '0'.repeat(64),
      ...change,
    }),
  )
  const judged = judgeReceipts({ plan, state, receipts: list, fence, salt: 's', at: AT })
  return { judged, state: apply(state, 'receipts', judged.event) }
}

describe('controls', () => {
  test('labels are added once and never removed', () => {
    const labelled = apply(fresh, 'label', { label: 'y' })
    expect([labelled.labels, labelled.controlRevision]).toEqual([['x', 'y'], 1])
    expect(apply(labelled, 'label', { label: 'y' })).toBe(labelled)
    expect(apply(labelled, 'handoff_completed', { labels: ['y', 'z'] })).toMatchObject({
      labels: ['x', 'y', 'z'],
      controlRevision: 2,
    })
  })

  test('the filter, kill and bypass change the control revision and not the state version', () => {
    const filtered = apply(fresh, 'tool_filter', { tools: ['look'] })
    const killed = apply(filtered, 'killed', { by: 'client' })
    expect(filtered).toMatchObject({ toolFilter: ['look'], controlRevision: 1, stateVersion: 0 })
    expect(killed).toMatchObject({ status: 'KILLED', controlRevision: 2 })
    expect(apply(killed, 'bypass', { method: null, cause: 'bypass' }).status).toBe('KILLED')
    expect(apply(filtered, 'bypass', { method: null, cause: 'bypass' }).status).toBe('COMPROMISED')
  })

  test('a handoff bounds the tools from the start', () => {
    expect(initialState(plan, created({ tools: ['look'] })).offeredTools).toEqual(['look'])
  })

  test('a session is created once, and first', () => {
    expect(() => applyEvent(fresh, created(null), plan)).toThrow('created once')
    expect(() => foldEvents([], plan)).toThrow('must be `created`')
  })

  test('a second proposal cannot register calls while one is open', () => {
    const { state } = propose(fresh, 'look')
    expect(() => propose({ ...state, usedCalls: 0 }, 'look')).toThrow('while another was open')
  })
})

describe('receipts', () => {
  test('with an old fence are late evidence and resolve nothing', () => {
    const { state } = propose(fresh, 'look')
    const late = receipts(state, 2, { at: 0 })
    expect(late.judged.results).toMatchObject([{ late: true, at_level: false }])
    expect(late.judged.event.committed).toBe(false)
    expect(late.state).toEqual(state)
  })

  test('for one call twice in a batch count once', () => {
    const { state } = propose(fresh, 'look')
    const twice = receipts(state, 3, { at: 0 }, { at: 0, outcome: 'not_executed' })
    expect(twice.judged.results.map(({ late }) => late)).toEqual([false, true])
    expect(twice.state).toMatchObject({ stateVersion: 1, usedCalls: 1, open: null })
  })

  test('for a call that is not open are late', () => {
    const { state } = propose(fresh, 'look')
    expect(receipts(state, 3, { at: 7 }).judged.results).toMatchObject([{ late: true }])
  })

  test('after kill resolve the call and advance nothing', () => {
    const killed = apply(propose(fresh, 'look').state, 'killed', { by: 'client' })
    const after = receipts(killed, 3, { at: 0 })
    expect(after.judged.results).toMatchObject([{ late: true }])
    expect(after.state).toMatchObject({ status: 'KILLED', stateVersion: 0, open: null, committed: {} })
  })

  test.each(['result_hash', 'started_at', 'finished_at'] as const)(
    'that say executed without %s are below their level',
    (missing) => {
      const { state } = propose(fresh, 'pay')
      const hash = state.open?.calls[0]?.argument_hash ?? ''
      const approvals = [{ checkpoint_id: 'p.0#0', decision: 'approve' as const, argument_hash: hash }]
      const whole = {
        evidence_level: 'executed' as const,
        result_hash: '1'.repeat(64),
        started_at: AT,
        finished_at: AT,
        approvals,
      }
      const { [missing]: _, ...part } = whole
      expect(receipts(state, 3, { at: 0, ...whole }).judged.results).toMatchObject([{ at_level: true }])
      expect(receipts(state, 3, { at: 0, ...part }).judged.results).toMatchObject([{ at_level: false }])
    },
  )

  test.each([
    ['another checkpoint', { checkpoint_id: 'p.0#1', decision: 'approve' }],
    ['other arguments', { argument_hash: '2'.repeat(64) }],
    ['a denial', { decision: 'deny' }],
    ['a timeout', { decision: 'timeout' }],
  ] as const)('with an approval for %s are below their level', (_, change) => {
    const { state } = propose(fresh, 'pay')
    const hash = state.open?.calls[0]?.argument_hash ?? ''
    const approvals = [{ checkpoint_id: 'p.0#0', decision: 'approve' as const, argument_hash: hash, ...change }]
    const evidence = {
      evidence_level: 'executed' as const,
      result_hash: '1'.repeat(64),
      started_at: AT,
      finished_at: AT,
      approvals,
    }
    expect(receipts(state, 3, { at: 0, ...evidence }).judged.results).toMatchObject([{ at_level: false }])
  })
})

describe('recovery', () => {
  const open = propose(fresh, 'look', 'look').state
  const first = receipts(open, 3, { at: 0 }).state
  const recovered = apply(first, 'recovered', { holder_id: 'h2', fence: 4, takeover: false, in_doubt: ['p.1'] })

  test('raises the fence and puts calls without outcome in doubt', () => {
    expect(recovered).toMatchObject({ status: 'RECOVERING', fence: 4, holderId: 'h2' })
    expect(recovered.open?.calls.map(({ state }) => state)).toEqual(['resolved', 'in_doubt'])
  })

  test('shuts the old holder out', () => {
    expect(receipts(recovered, 3, { at: 1 }).judged.results).toMatchObject([{ late: true }])
  })

  test('ends when every call has an outcome', () => {
    const after = receipts(recovered, 4, { at: 1, outcome: 'unknown' })
    expect(after.state).toMatchObject({ status: 'ACTIVE', stateVersion: 1, open: null })
  })

  test('is over at once where nothing is in doubt', () => {
    expect(apply(fresh, 'recovered', { holder_id: 'h2', fence: 4, takeover: true, in_doubt: [] })).toMatchObject({
      status: 'ACTIVE',
      fence: 4,
      controlRevision: 1,
    })
  })
})

describe('limits that preflight would show first', () => {
  const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${at}`, 1]))
  const reasons = (state: Partial<SessionState>, name: string) =>
    propose({ ...fresh, ...state }, name).verdict.decisions[0]?.reasons.map(({ reason, detail }) => [reason, detail])

  test('no more tools than a session may count', () => {
    expect(reasons({ used: names(256) }, 'look')).toEqual([['session_limit_exceeded', 'tool_names']])
    expect(reasons({ used: names(255) }, 'look')).toEqual([])
    expect(reasons({ used: { ...names(255), look: 1 } }, 'look')).toEqual([])
  })

  test('no more steps than the plan allows', () => {
    expect(reasons({ stateVersion: 3 }, 'look')).toEqual([['session_limit_exceeded', 'max_steps']])
    expect(reasons({ stateVersion: 2 }, 'look')).toEqual([])
  })
})

describe('what remains', () => {
  test('is counted from the allow', () => {
    const { state } = propose(fresh, 'look')
    const { remaining, blocked } = checkPreflight({
      plan,
      state,
      nowMs: Date.parse(AT),
      provider: 'openai',
      model: 'm',
    })
    expect(blocked).toBeNull()
    expect(remaining).toEqual({
      steps: 3,
      tool_calls: 4,
      cost: 1.5,
      calls_this_minute: 3,
      calls_per_tool: { look: 1 },
      checkpoints: 10,
    })
  })

  test('the lease covers the tool and the person who is asked', () => {
    expect(plan.longestTimeoutMs(['look'])).toBe(5_000)
    expect(plan.longestTimeoutMs(['look', 'pay'])).toBe(61_000)
    expect(plan.longestTimeoutMs(['unknown'])).toBe(60_000)
    expect(plan.longestTimeoutMs([])).toBe(0)
  })
})
