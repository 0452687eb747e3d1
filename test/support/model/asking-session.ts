import type { CallFlow, JsonObject, LedgerBody, QuestionCard, SessionEvent } from '@countersign/protocol'
import { compilePlan } from '../../../packages/engine/src/compile/compile-plan.js'
import { saltedHash } from '../../../packages/engine/src/json/hash.js'
import { usableUntil } from '../../../packages/engine/src/judge/asking.js'
import { evaluateProposal } from '../../../packages/engine/src/judge/evaluate-proposal.js'
import type { Proposal, Verdict } from '../../../packages/engine/src/judge/proposal.js'
import type { People } from '../../../packages/engine/src/judge/rules/standing.js'
import { chainEvent, verifyExport } from '../../../packages/engine/src/ledger/chain.js'
import { readResponse } from '../../../packages/engine/src/response/read-response.js'
import { applyEvent } from '../../../packages/engine/src/state/apply-event.js'
import { initialState } from '../../../packages/engine/src/state/session-start.js'
import type { SessionState } from '../../../packages/engine/src/state/state.js'

const START = Date.parse('2026-01-01T00:00:00.000Z')
export const SALT = 'salt'

export const ASKING_CONTRACTS = [
  {
    tool: 'pay',
    side_effect: 'financial',
    arguments: { type: 'object' },
    aggregates: [{ name: 'paid', path: '$.amount', lte: 1_000 }],
    checkpoint: [
      { when: [{ path: '$.amount', gt: 200 }], reason: 'large payment', ask: { role: 'finance', window: '24h' } },
      {
        when: [{ path: '$.amount', gt: 900 }],
        reason: 'very large',
        ask: { role: 'approver', count: 2, window: '4h' },
      },
    ],
  },
  { tool: 'look', side_effect: 'read' },
  { tool: 'send', side_effect: 'write', checkpoint: { reason: 'mail', ask: { self: 'confirm' } } },
]

/** A session without a service: proposals are judged and folded, and people answer as the service would let them. */
export function askingSession({
  people = {},
  contracts = ASKING_CONTRACTS,
}: {
  people?: Partial<People> | null
  contracts?: unknown[]
} = {}) {
  const compiled = compilePlan({
    contracts: contracts.map((value, index) => ({ file: `${index}.yaml`, value })),
    session: { file: 'session.yaml', value: { session_limits: { circuit_breaker: { consecutive_blocks: 3 } } } },
  })
  if (!compiled.ok) throw new Error(JSON.stringify(compiled))
  const { plan, compiled_hash, compiled_session } = compiled
  let nowMs = START
  let made = 0
  const at = () => new Date(nowMs).toISOString()
  const created = {
    type: 'created',
    at: at(),
    body: {
      agent: 'buyer',
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
  } as const satisfies SessionEvent
  let state: SessionState = initialState(plan, created)
  const chained = [chainEvent(null, 's', created)]
  const cards = new Map<string, { card: QuestionCard; hash: string; flow: CallFlow | null }>()
  const apply = (event: SessionEvent) => {
    state = applyEvent(state, event, plan)
    chained.push(chainEvent(chained.at(-1) ?? null, 's', event))
  }
  const asks: People | null =
    people === null
      ? null
      : {
          tenantId: 't',
          environment: null,
          approvedHash: null,
          runsJudged: true,
          questionId: () => `Q-${++made}`,
          canAnswer: () => true,
          definitionHash: () => null,
          noteOf: () => null,
          redeems: new Map(),
          flows: new Map(),
          ...people,
        }
  const settle = (outcome: 'succeeded' | 'failed') => {
    const receipts = (state.open?.calls ?? []).map((call) => ({
      pending_call_id: call.pending_call_id,
      outcome,
      evidence_level: 'executed' as const,
      argument_hash: call.argument_hash,
      result_hash: null,
      started_at: null,
      finished_at: null,
      at_level: true,
      late: false,
      approvals: [],
      binds: {},
      establishes: {},
      satisfies: [],
    }))
    if (receipts.length > 0)
      apply({ type: 'receipts', at: at(), body: { receipts, committed: outcome === 'succeeded' } })
  }
  return {
    state: () => state,
    apply,
    later: (ms: number) => {
      nowMs += ms
    },
    at,
    card: (id: string) => cards.get(id),
    flow: (id: string) => cards.get(id)?.flow,
    propose(
      calls: readonly [string, JsonObject][],
      options: Partial<Pick<Proposal, 'gate' | 'flows'>> & { redeems?: string; flowsOf?: People['flows'] } = {},
    ): Verdict {
      const proposalId = `p${++made}`
      const verdict = evaluateProposal({
        plan,
        state,
        response: readResponse({
          tool_calls: calls.map(([name, args], index) => ({ id: `c${index}`, name, arguments: JSON.stringify(args) })),
        }),
        gate: options.gate ?? 'reject_all',
        unmatchedPolicy: 'block',
        agent: 'buyer',
        salt: SALT,
        nowMs,
        offered: null,
        toolless: false,
        flows: options.flows,
        people:
          asks === null
            ? null
            : {
                ...asks,
                redeems: new Map(options.redeems ? [['c0', options.redeems]] : []),
                flows: options.flowsOf ?? asks.flows,
              },
        ids: { sessionId: 's', proposalId, pendingCallId: (index) => `${proposalId}.${index}` },
      })
      for (const { id, card, cardHash, flow } of verdict.questions) cards.set(id, { card, hash: cardHash, flow })
      const prepared = { prepared_request_id: proposalId, prepared_digest: '0'.repeat(64) }
      apply({ type: 'proposal', at: at(), body: { ...verdict.event, ...prepared } })
      settle('succeeded')
      return verdict
    },
    answer(
      id: string,
      member: string,
      decision: 'approve' | 'deny' = 'approve',
      more: Partial<LedgerBody<'answered'>> = {},
    ) {
      const question = state.questions?.find((one) => one.id === id)
      if (question === undefined) throw new Error(`${id} was not asked`)
      const have = question.yes.length + (decision === 'approve' ? 1 : 0)
      const isLast = decision === 'approve' && have >= question.needed
      apply({
        type: 'answered',
        at: at(),
        body: {
          question_id: id,
          card_no: question.cardNo,
          card_hash: question.cardHash,
          decision,
          member_hash: saltedHash(SALT, member),
          name_hash: saltedHash(SALT, member),
          relation: 'unknown',
          channel: 'dashboard',
          state: decision === 'deny' ? 'denied' : isLast ? 'approved' : 'waiting',
          have,
          ...(isLast && { usable_until: usableUntil(question.until, nowMs) }),
          ...more,
        },
      })
    },
    verify: () =>
      verifyExport({
        session_id: 's',
        events: chained,
        head: { seq: chained.length, hash: chained.at(-1)?.hash ?? '' },
        compiled_hash,
        compiled_session,
        state: JSON.parse(JSON.stringify(state)),
      }),
  }
}

export const PAY: [string, JsonObject] = ['pay', { amount: 300 }]
export const stateOf = (s: ReturnType<typeof askingSession>, id: string) =>
  s.state().questions?.find((one) => one.id === id)?.state
export const first = ({ decisions }: Verdict) => decisions[0]
export const questionOf = (verdict: Verdict): string => first(verdict)?.question?.question_id ?? ''
