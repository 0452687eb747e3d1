import { describe, expect, test } from 'vitest'
import { compilePlan } from '../compile/compile-plan.js'
import { saltedHash, sha256Hex } from '../json/hash.js'
import { readResponse } from '../response/read-response.js'
import { applyProposal } from '../state/apply-proposal.js'
import { type CreatedEvent, initialState } from '../state/session-start.js'
import { evaluateProposal } from './evaluate-proposal.js'

const AT = '2026-01-01T00:00:00.000Z'

function openSession(limits: object) {
  const compiled = compilePlan({
    contracts: [
      { file: 'look', value: { tool: 'look', side_effect: 'read' } },
      { file: 'pay', value: { tool: 'pay', side_effect: 'read', checkpoint: { reason: 'r', timeout_seconds: 60 } } },
    ],
    session: { file: 's', value: { session_limits: limits } },
  })
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors))
  const { plan } = compiled
  const created: CreatedEvent['body'] = {
    agent: 'a',
    environment: null,
    holder_id: 'h1',
    compiled_hash: plan.hash,
    plan_source: 'client',
    unmatched_policy: 'block',
    capture_level: 'redacted',
    labels: [] as string[],
    has_principal: false,
    initial_phase: null,
    fence: 1,
    workflow: null,
  }
  return { plan, state: initialState(plan, { type: 'created', at: AT, body: created }) }
}

/** A response in a session that keeps no hashes. */
const proposalOf = ({ plan, state }: ReturnType<typeof openSession>, response: object) => ({
  plan,
  state,
  response: readResponse(response),
  gate: 'strip_blocked' as const,
  unmatchedPolicy: 'block' as const,
  agent: 'a',
  salt: 's',
  nowMs: Date.parse(AT),
  offered: null,
  toolless: false,
  ids: { sessionId: 'S', proposalId: 'p', pendingCallId: (index: number) => `p.${index}` },
  keepsHashes: false,
})

function judge(session: ReturnType<typeof openSession>, ...names: string[]) {
  const calls = names.map((name, at) => ({ id: `c${at}`, name, arguments: '{"a":1}' }))
  return evaluateProposal(proposalOf(session, { tool_calls: calls }))
}

const HASH = saltedHash('s', { a: 1 })

describe('a session that keeps no hashes', () => {
  test('hashes nothing for calls that are allowed, and registers them', () => {
    const session = openSession({ max_steps: 9 })
    const { decisions, event } = judge(session, 'look')
    expect(decisions.map((call) => [call.argument_hash, call.idempotency_key])).toEqual([['', null]])
    const { open } = applyProposal(session.state, { body: event, at: AT }, session.plan)
    expect(open?.calls.map((call) => [call.pending_call_id, call.argument_hash])).toEqual([['p.0', '']])
  })

  test.each([
    ['one of them is blocked and reported', ['look', 'unknown']],
    ['a person must be asked about one', ['look', 'pay']],
  ])('hashes the arguments of all calls where %s', (_, names) => {
    const { decisions } = judge(openSession({ max_steps: 9 }), ...names)
    expect(decisions.map((call) => call.argument_hash)).toEqual([HASH, HASH])
    expect(decisions[0]?.idempotency_key).toMatch(/^[0-9a-f]{64}$/)
  })

  test('still sees loops', () => {
    const session = openSession({ loop_detection: { window: 5, threshold: 3 } })
    const { decisions } = judge(session, 'look', 'look', 'look')
    expect(decisions.map(({ reason }) => reason)).toEqual([null, null, 'loop_detected'])
  })
})

describe('the hash of a response whose arguments nobody hashed', () => {
  const responseOf = (length: number) => ({
    content: 'See "these":',
    finish_reason: 'tool_calls',
    tool_calls: ['a', 'b', 'c'].map((id) => ({ id, name: 'look', arguments: `{"text":"${'é'.repeat(length)}"}` })),
  })

  test.each([10, 40_000])('is over what was read: %d characters', (length) => {
    const response = responseOf(length)
    const calls = response.tool_calls.map(({ id, name, arguments: text }) => [id, name, text])
    const { event } = evaluateProposal(proposalOf(openSession({}), response))
    const read = JSON.stringify([response.finish_reason, response.content, calls])
    expect(event.response_hash).toBe(sha256Hex(`1:s:${read}`))
  })
})
