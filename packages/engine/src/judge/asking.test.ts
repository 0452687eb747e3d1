import type { JsonObject, LedgerBody, LedgerCall, QuestionCard, SessionEvent } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { compilePlan } from '../compile/compile-plan.js'
import { saltedHash } from '../json/hash.js'
import { chainEvent, verifyExport } from '../ledger/chain.js'
import { readResponse } from '../response/read-response.js'
import { applyEvent } from '../state/apply-event.js'
import { initialState } from '../state/session-start.js'
import type { SessionState } from '../state/state.js'
import { usableUntil } from './asking.js'
import { evaluateProposal } from './evaluate-proposal.js'
import type { Proposal, Verdict } from './proposal.js'
import type { People } from './rules/standing.js'

const START = Date.parse('2026-01-01T00:00:00.000Z')
const SALT = 'salt'

const CONTRACTS = [
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
function session({
  people = {},
  contracts = CONTRACTS,
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
  const cards = new Map<string, { card: QuestionCard; hash: string }>()
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
    propose(
      calls: readonly [string, JsonObject][],
      options: Partial<Pick<Proposal, 'gate'>> & { redeems?: string } = {},
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
        people: asks === null ? null : { ...asks, redeems: new Map(options.redeems ? [['c0', options.redeems]] : []) },
        ids: { sessionId: 's', proposalId, pendingCallId: (index) => `${proposalId}.${index}` },
      })
      for (const { id, card, cardHash } of verdict.questions) cards.set(id, { card, hash: cardHash })
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

const PAY: [string, JsonObject] = ['pay', { amount: 300 }]
const stateOf = (s: ReturnType<typeof session>, id: string) => s.state().questions?.find((one) => one.id === id)?.state
const first = ({ decisions }: Verdict) => decisions[0]
const questionOf = (verdict: Verdict): string => first(verdict)?.question?.question_id ?? ''

describe('asking', () => {
  proves('question.asked', 'a call that needs people waits: it is neither a block nor an allow, and holds nothing', () => {
    const s = session()
    const verdict = s.propose([PAY])
    expect(verdict).toMatchObject({ outcome: 'blocked', breaker: false })
    expect(first(verdict)).toMatchObject({
      decision: 'block',
      reason: null,
      reasons: [],
      pending_call_id: null,
      question: { state: 'waiting', have: 0, needed: 1, expires_at: '2026-01-02T00:00:00.000Z' },
      remedy: `pay waits for a person, question ${questionOf(verdict)}. It has not run.`,
    })
    expect(s.state()).toMatchObject({
      open: null,
      consecutiveBlocks: 0,
      totalBlocks: 0,
      usedCalls: 0,
      checkpointsTriggered: 1,
    })
    expect(s.card(questionOf(verdict))?.card).toMatchObject({
      arguments: { amount: 300 },
      rules: [{ rule: 'pay#0', reason: 'large payment' }],
      eligible: [[{ role: 'finance' }]],
      self: 'confirm',
    })
    expect(s.verify()).toMatchObject({ ok: true })
  })

  test('the same call waits for the same question, and takes no further trigger', () => {
    const s = session()
    const id = questionOf(s.propose([PAY]))
    for (let again = 0; again < 20; again++) expect(questionOf(s.propose([PAY]))).toBe(id)
    expect(s.state()).toMatchObject({ checkpointsTriggered: 1, totalBlocks: 0, status: 'ACTIVE' })
    expect(s.verify()).toMatchObject({ ok: true })
  })

  proves('question.bound', 'one byte of an argument changed is another question', () => {
    const s = session()
    const id = questionOf(s.propose([PAY]))
    s.answer(id, 'ada')
    const other = s.propose([['pay', { amount: 301 }]])
    expect(first(other)).toMatchObject({ decision: 'block', question: { state: 'waiting' } })
    expect(questionOf(other)).not.toBe(id)
  })

  proves('question.used-once', 'an approved call is judged again, registered once, and its answer is used up', () => {
    const s = session()
    const id = questionOf(s.propose([PAY]))
    s.answer(id, 'ada')
    const verdict = s.propose([PAY])
    expect(first(verdict)).toMatchObject({
      decision: 'allow',
      approval: { question_id: id, card_no: 1 },
      checkpoint_required: false,
    })
    expect(first(verdict)?.pending_call_id).not.toBeNull()
    expect(stateOf(s, id)).toBe('used')
    expect(s.state().stateVersion).toBe(1)
    const again = s.propose([PAY])
    expect(first(again)?.decision).toBe('block')
    expect(questionOf(again)).not.toBe(id)
    expect(s.verify()).toMatchObject({ ok: true })
  })

  test('two equal calls in one answer are two questions', () => {
    const s = session()
    const verdict = s.propose([PAY, PAY])
    const ids = verdict.decisions.map(({ question }) => question?.question_id)
    expect(new Set(ids).size).toBe(2)
    s.answer(ids[0] ?? '', 'ada')
    // One is approved and the other waits: under reject_all neither runs, and the answer is not used.
    expect(s.propose([PAY, PAY]).outcome).toBe('blocked')
    expect(stateOf(s, ids[0] ?? '')).toBe('approved')
    s.answer(ids[1] ?? '', 'ada')
    expect(s.propose([PAY, PAY]).outcome).toBe('allowed')
    expect(s.verify()).toMatchObject({ ok: true })
  })

  proves('question.judged-again', 'another rule that blocks meanwhile blocks, and the approval stays', () => {
    const s = session()
    const id = questionOf(s.propose([['pay', { amount: 900 }]]))
    s.answer(id, 'ada')
    for (let paid = 0; paid < 2; paid++) s.propose([['pay', { amount: 100 }]])
    const verdict = s.propose([['pay', { amount: 900 }]])
    expect(first(verdict)).toMatchObject({ decision: 'block', reason: 'aggregate_limit_exceeded' })
    expect(stateOf(s, id)).toBe('approved')
    expect(s.verify()).toMatchObject({ ok: true })
  })

  proves('question.denied-is-final', 'a refused call stays blocked in the session, and nobody is asked again', () => {
    const s = session({ people: { noteOf: () => 'not this supplier' } })
    const id = questionOf(s.propose([PAY]))
    s.answer(id, 'ada', 'deny')
    for (let again = 0; again < 2; again++) {
      expect(first(s.propose([PAY]))).toMatchObject({
        decision: 'block',
        reason: 'checkpoint_denied',
        remedy: 'A person refused this call of pay: not this supplier.',
        question: { question_id: id, state: 'denied' },
      })
    }
    expect(s.state().questions).toHaveLength(1)
    expect(s.state()).toMatchObject({ totalBlocks: 2, checkpointsTriggered: 1 })
    s.propose([PAY])
    s.propose([PAY])
    expect(s.verify()).toMatchObject({ ok: true })
  })

  test('a no after a yes refuses', () => {
    const s = session()
    const id = questionOf(s.propose([PAY]))
    s.answer(id, 'ada')
    s.answer(id, 'bob', 'deny')
    expect(first(s.propose([PAY]))).toMatchObject({ decision: 'block', reason: 'checkpoint_denied' })
    expect(s.verify()).toMatchObject({ ok: true })
  })

  proves('question.expire', 'an answer is usable to the later of the end of the question and an hour, to the millisecond', () => {
    for (const [late, decision] of [
      [0, 'allow'],
      [1, 'block'],
    ] as const) {
      const s = session()
      const id = questionOf(s.propose([PAY]))
      s.later(86_400_000 - 60_000)
      s.answer(id, 'ada')
      s.later(3_600_000 + late)
      expect(first(s.propose([PAY]))?.decision).toBe(decision)
      expect(stateOf(s, id)).toBe(late === 0 ? 'used' : 'expired')
      expect(s.verify()).toMatchObject({ ok: true })
    }
  })

  test('an expired question may be asked again, and takes another trigger', () => {
    const s = session()
    const id = questionOf(s.propose([PAY]))
    s.later(86_400_001)
    const again = s.propose([PAY])
    expect(questionOf(again)).not.toBe(id)
    expect(stateOf(s, id)).toBe('expired')
    expect(s.state().checkpointsTriggered).toBe(2)
    expect(first(s.propose([PAY], { redeems: id }))).toMatchObject({
      reason: 'checkpoint_timeout',
      remedy: `No answer came to ${id} in time; pay did not run.`,
    })
  })

  proves('question.share-the-triggers', 'the eleventh trigger of a session is blocked', () => {
    const s = session()
    for (let asked = 0; asked < 10; asked++) {
      expect(first(s.propose([['pay', { amount: 300 + asked }]]))?.question?.state).toBe('waiting')
    }
    expect(first(s.propose([['pay', { amount: 400 }]]))).toMatchObject({ reason: 'checkpoint_budget_exceeded' })
    expect(s.state().questions).toHaveLength(10)
  })

  test('several rules are one question: the largest count, the shortest time, and people who fit all', () => {
    const s = session()
    const id = questionOf(s.propose([['pay', { amount: 950 }]]))
    expect(s.card(id)?.card).toMatchObject({
      needed: 2,
      expires_at: '2026-01-01T04:00:00.000Z',
      self: 'never',
      eligible: [[{ role: 'finance' }], [{ role: 'approver' }]],
    })
    s.answer(id, 'ada')
    expect(first(s.propose([['pay', { amount: 950 }]]))?.question).toMatchObject({ state: 'waiting', have: 1 })
    s.answer(id, 'ada', 'approve', { have: 1, state: 'waiting', usable_until: undefined })
    expect(s.state().questions?.[0]).toMatchObject({ state: 'waiting', yes: { length: 1 } })
  })

  proves('question.not-asked', 'too few members, or nobody here who could ask them: blocked, and nothing is asked', () => {
    const few = session({ people: { canAnswer: () => false } })
    expect(first(few.propose([PAY]))).toMatchObject({
      reason: 'checkpoint_denied',
      reasons: [{ detail: 'not_asked' }],
      remedy: 'No person can be asked about pay; it did not run.',
    })
    const alone = session({ people: null })
    expect(first(alone.propose([PAY]))).toMatchObject({ reasons: [{ detail: 'ask_needs_service' }] })
    for (const s of [few, alone]) expect(s.state()).toMatchObject({ checkpointsTriggered: 0, questions: undefined })
  })

  test('of a response that is rejected for another call, nobody is asked', () => {
    const s = session()
    const verdict = s.propose([PAY, ['unknown', {}]])
    expect(verdict.questions).toEqual([])
    expect(first(verdict)).toMatchObject({ decision: 'allow', pending_call_id: null })
    const partly = s.propose([PAY, ['look', {}]], { gate: 'strip_blocked' })
    expect(partly).toMatchObject({ outcome: 'partial', questions: { length: 1 } })
    expect(partly.decisions[1]?.pending_call_id).not.toBeNull()
    expect(s.verify()).toMatchObject({ ok: true })
  })

  proves('question.withdrawn-by-kill', 'a kill and a bypass withdraw, and no answer after them counts', () => {
    const stops = [
      { type: 'killed', body: { by: 'client' } },
      { type: 'bypass', body: { method: null, cause: 'bypass' } },
    ] as const
    for (const stop of stops) {
      const s = session()
      const [waiting, approved] = s
        .propose([PAY, ['send', {}]])
        .decisions.map(({ question }) => question?.question_id ?? '')
      s.answer(approved ?? '', 'ada')
      s.apply({ ...stop, at: s.at() })
      expect([stateOf(s, waiting ?? ''), stateOf(s, approved ?? '')]).toEqual(['withdrawn', 'withdrawn'])
      s.answer(waiting ?? '', 'ada')
      expect(stateOf(s, waiting ?? '')).toBe('withdrawn')
      expect(s.verify()).toMatchObject({ ok: false, problem: expect.stringContaining('after the session was stopped') })
    }
  })

  test('another card voids the answers to the one before it', () => {
    const s = session()
    const id = questionOf(s.propose([PAY]))
    s.answer(id, 'ada')
    const body = {
      question_id: id,
      card_no: 2,
      card_hash: 'b'.repeat(64),
      needed: 1,
      expires_at: '2026-01-03T00:00:00.000Z',
    }
    s.apply({ type: 'question_changed', at: s.at(), body: { ...body, cause: 'asked_again' } })
    expect(first(s.propose([PAY]))?.question).toMatchObject({ state: 'waiting', have: 0 })
    s.answer(id, 'ada')
    expect(first(s.propose([PAY]))?.approval).toEqual({ question_id: id, card_no: 2 })
    expect(s.verify()).toMatchObject({ ok: true })
  })

  test('an edited call runs by its question, and the call that was asked about does not', () => {
    const s = session()
    const id = questionOf(s.propose([PAY]))
    const edited: JsonObject = { amount: 250 }
    s.answer(id, 'ada', 'approve', { edited_hash: saltedHash(SALT, edited) })
    expect(first(s.propose([PAY]))).toMatchObject({ decision: 'block', question: { state: 'approved', edited: true } })
    expect(first(s.propose([['pay', edited]], { redeems: id }))).toMatchObject({
      decision: 'allow',
      approval: { question_id: id },
    })
    expect(s.verify()).toMatchObject({ ok: true })
    expect(first(s.propose([['pay', edited]], { redeems: id }))).toMatchObject({
      reason: 'checkpoint_denied',
      remedy: `pay has run under ${id}.`,
    })
  })

  test('in shadow nobody is asked', () => {
    const compiled = compilePlan({ contracts: [{ file: 'a', value: CONTRACTS[0] }] })
    if (!compiled.ok) throw new Error('the plan must compile')
    expect(compiled.plan.asksPeople).toBe(true)
    const s = session({ contracts: [{ tool: 'pay', checkpoint: { reason: 'x' } }] })
    expect(first(s.propose([PAY]))).toMatchObject({ decision: 'allow', checkpoint_required: true })
  })
})

describe('verification', () => {
  /** What is said of the last proposal of a session in which a call was asked about, approved and used. */
  function tampered(
    change: (call: LedgerCall) => LedgerCall,
    before: (s: ReturnType<typeof session>, id: string) => void,
  ) {
    const s = session()
    const id = questionOf(s.propose([PAY]))
    before(s, id)
    const { state } = s
    const question = state().questions?.find((one) => one.id === id)
    const call = {
      index: 0,
      call_id: 'c0',
      tool_name: 'pay',
      decision: 'allow' as const,
      pending_call_id: 'x',
      argument_hash: saltedHash(SALT, { amount: 300 }),
      reasons: [],
      commit_requirement: 'executed' as const,
      rolls_back: false,
      checkpoints: [],
      advances_to: null,
      adds_labels: [],
      amounts: {},
      binds: {},
      establishes: {},
      witnesses: {},
      resources: [],
      question: {
        step: 'used' as const,
        question_id: id,
        card_no: 1,
        card_hash: question?.cardHash ?? '',
        asked_hash: question?.hash ?? '',
      },
    }
    s.apply({
      type: 'proposal',
      at: s.at(),
      body: {
        proposal_id: 'p',
        prepared_request_id: 'p',
        prepared_digest: '0'.repeat(64),
        response_hash: '0'.repeat(64),
        gate: 'reject_all',
        model: null,
        usage: null,
        cost: '0',
        outcome: 'allowed',
        provider_run: [],
        calls: [change(call)],
      },
    })
    return s.verify()
  }
  const approve = (s: ReturnType<typeof session>, id: string) => s.answer(id, 'ada')
  const same = (call: LedgerCall) => call
  const withQuestion = (call: LedgerCall, change: object): LedgerCall =>
    ({ ...call, question: { ...call.question, ...change } }) as LedgerCall

  test.each<[string, (call: LedgerCall) => LedgerCall, (s: ReturnType<typeof session>, id: string) => void]>([
    ['which was not approved', same, () => {}],
    ['which was not approved', same, (s, id) => s.answer(id, 'ada', 'deny')],
    ['which was never asked', (call) => withQuestion(call, { question_id: 'Q-other' }), approve],
    ['by an answer to another card', (call) => withQuestion(call, { card_hash: 'a'.repeat(64) }), approve],
    ['which was about another call', (call) => ({ ...call, tool_name: 'look' }), approve],
    ['which was about another call', (call) => withQuestion(call, { asked_hash: 'a'.repeat(64) }), approve],
    ['with other arguments', (call) => ({ ...call, argument_hash: 'a'.repeat(64) }), approve],
    [
      'whose answer was used before',
      same,
      (s, id) => {
        approve(s, id)
        s.propose([PAY])
      },
    ],
    [
      'after its time',
      same,
      (s, id) => {
        approve(s, id)
        s.later(86_400_001)
      },
    ],
    ['counts the answers wrongly', same, (s, id) => s.answer(id, 'ada', 'approve', { have: 2 })],
    ['is to another card', same, (s, id) => s.answer(id, 'ada', 'approve', { card_hash: 'a'.repeat(64) })],
    [
      'comes after its time',
      same,
      (s, id) => {
        s.later(86_400_001)
        approve(s, id)
      },
    ],
  ])('names a call %s', (problem, change, before) => {
    expect(tampered(change, before)).toMatchObject({ ok: false, problem: expect.stringContaining(problem) })
  })

  proves('question.verified', 'finds nothing in a session that is as it should be', () => {
    expect(tampered(same, approve)).toMatchObject({ ok: true })
  })
})

proves('question.compile-errors', 'a contract that asks says so in its errors', () => {
  const errors = (checkpoint: object, sessionAsk?: object) => {
    const compiled = compilePlan({
      contracts: [{ file: 'a.yaml', value: { tool: 'pay', checkpoint: { reason: 'r', ...checkpoint } } }],
      ...(sessionAsk && { session: { file: 'session.yaml', value: { ask: sessionAsk } } }),
    })
    return compiled.ok ? [] : compiled.errors.map(({ path, message }) => `${path}: ${message}`)
  }
  expect(errors({ ask: {} })).toEqual([])
  expect(errors({}, { role: 'finance' })).toEqual([])
  expect(errors({ ask: {}, on_timeout: 'allow' })).toEqual([expect.stringContaining('on_timeout')])
  expect(errors({ ask: {}, timeout_seconds: 60 })).toEqual([expect.stringContaining('timeout_seconds')])
  expect(errors({ ask: { self: 'confirm', count: 2 } })).toEqual([expect.stringContaining('self')])
  expect(errors({ ask: { window: '4h', escalate: [{ after: '4h', role: 'on-call' }] } })).toEqual([
    expect.stringContaining('after 4h the question has ended'),
  ])
  expect(errors({ ask: { role: 'viewer' } })).toEqual([expect.stringContaining('viewers decide nothing')])
  expect(errors({ ask: { count: 6 } })).toHaveLength(1)
  expect(errors({ ask: { window: '31d' } })).toHaveLength(1)
  expect(errors({}, { self: 'confirm', count: 3 })).toEqual([expect.stringContaining('ask.self')])
})
