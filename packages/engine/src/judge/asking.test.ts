import type { CallFlow, JsonObject } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import {
  ASKING_CONTRACTS,
  first,
  PAY,
  questionOf,
  SALT,
  askingSession as session,
  stateOf,
} from '../../../../test/support/model/asking-session.js'
import { proves } from '../../../../test/support/proves.js'
import { compilePlan } from '../compile/compile-plan.js'
import { saltedHash } from '../json/hash.js'

/** Once the session is tainted, a second rule asks two people about every payment. */
const TAINTED = [
  {
    tool: 'pay',
    side_effect: 'financial',
    arguments: { type: 'object' },
    checkpoint: [
      { when: [{ path: '$.amount', gt: 200 }], reason: 'large payment', ask: { role: 'finance' } },
      { when: [{ label: 'tainted' }], reason: 'tainted', ask: { role: 'approver', count: 2 } },
    ],
  },
]

describe('asking', () => {
  proves(
    'question.asked',
    'a call that needs people waits: it is neither a block nor an allow, and holds nothing',
    () => {
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
    },
  )

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

  test('a no is about the call: another rule that asks, or the same call twice, opens no way round it', () => {
    const s = session({ contracts: TAINTED })
    const id = questionOf(s.propose([PAY]))
    s.answer(id, 'ada', 'deny')
    for (const redeems of [undefined, id]) {
      const { decisions } = s.propose([PAY, PAY], redeems === undefined ? {} : { redeems })
      expect(decisions.map(({ reason }) => reason)).toEqual(['checkpoint_denied', 'checkpoint_denied'])
    }
    s.apply({ type: 'label', at: s.at(), body: { label: 'tainted' } })
    expect(first(s.propose([PAY]))).toMatchObject({ reason: 'checkpoint_denied' })
    expect(s.state().questions).toHaveLength(1)
  })

  test('an answer lifts the rules that it was given about, and no others', () => {
    const s = session({ contracts: TAINTED })
    const id = questionOf(s.propose([PAY]))
    s.answer(id, 'ada')
    s.apply({ type: 'label', at: s.at(), body: { label: 'tainted' } })
    const verdict = s.propose([PAY], { redeems: id })
    expect(first(verdict)).toMatchObject({ decision: 'block', question: { state: 'waiting', needed: 2 } })
    expect(questionOf(verdict)).not.toBe(id)
    expect(stateOf(s, id)).toBe('approved')
  })

  test('a no after a yes refuses', () => {
    const s = session()
    const id = questionOf(s.propose([PAY]))
    s.answer(id, 'ada')
    s.answer(id, 'bob', 'deny')
    expect(first(s.propose([PAY]))).toMatchObject({ decision: 'block', reason: 'checkpoint_denied' })
    expect(s.verify()).toMatchObject({ ok: true })
  })

  proves(
    'question.expire',
    'an answer is usable to the later of the end of the question and an hour, to the millisecond',
    () => {
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
    },
  )

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
      remedy: `${id} ended before its call ran; pay did not run.`,
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

  proves(
    'question.not-asked',
    'too few members, or nobody here who could ask them: blocked, and nothing is asked',
    () => {
      const few = session({ people: { canAnswer: () => false } })
      expect(first(few.propose([PAY]))).toMatchObject({
        reason: 'checkpoint_denied',
        reasons: [{ detail: 'not_asked' }],
        remedy: 'No person can be asked about pay; it did not run.',
      })
      const alone = session({ people: null })
      expect(first(alone.propose([PAY]))).toMatchObject({ reasons: [{ detail: 'ask_needs_service' }] })
      for (const s of [few, alone]) expect(s.state()).toMatchObject({ checkpointsTriggered: 0, questions: undefined })
    },
  )

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

  test('an edited call runs by its question, once, and the call that was asked about does not', () => {
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
      remedy: `${id} was used up: a call of pay was allowed by it.`,
    })
  })

  proves('question.used-once', 'an edited call that asks nothing any more uses its answer up all the same', () => {
    const s = session()
    const id = questionOf(s.propose([PAY]))
    const edited: JsonObject = { amount: 50 }
    s.answer(id, 'ada', 'approve', { edited_hash: saltedHash(SALT, edited) })
    expect(first(s.propose([['pay', edited]], { redeems: id }))).toMatchObject({ approval: { question_id: id } })
    expect(stateOf(s, id)).toBe('used')
    expect(first(s.propose([['pay', edited]], { redeems: id }))).toMatchObject({ reason: 'checkpoint_denied' })
    expect(first(s.propose([['pay', edited]]))?.approval).toBeUndefined()
    expect(first(s.propose([PAY]))?.question).toMatchObject({ state: 'waiting' })
    expect(s.verify()).toMatchObject({ ok: true })
  })

  proves('question.edited', 'an edit that asks a further rule is another question', () => {
    const s = session({ contracts: TAINTED })
    const id = questionOf(s.propose([PAY]))
    const edited: JsonObject = { amount: 250 }
    s.answer(id, 'ada', 'approve', { edited_hash: saltedHash(SALT, edited) })
    s.apply({ type: 'label', at: s.at(), body: { label: 'tainted' } })
    const verdict = s.propose([['pay', edited]], { redeems: id })
    expect(first(verdict)).toMatchObject({ decision: 'block', question: { state: 'waiting', needed: 2 } })
    expect(questionOf(verdict)).not.toBe(id)
  })

  proves(
    'question.edited',
    'the card names what may be changed: what all rules that ask allow, where that would run',
    () => {
      const editing = (edits: readonly object[][], people = {}) => {
        const checkpoint = edits.map((edit) => ({ reason: 'r', ask: edit.length === 0 ? {} : { edit } }))
        const s = session({ people, contracts: [{ tool: 'pay', arguments: LIMITED, checkpoint }] })
        return s.card(questionOf(s.propose([['pay', { amount: 300, currency: 'EUR' }]])))?.card.edit
      }
      const lower = { path: '$.amount', to: 'lower' }
      const other = { path: '$.currency', to: 'one_of' }
      const listed = { ...other, values: ['EUR', 'CHF'] }
      expect(editing([[lower, other]])).toEqual([lower, listed])
      expect(editing([[lower, other], [other]])).toEqual([listed])
      expect(editing([[lower], []])).toEqual([])
      expect(editing([[lower]], { runsJudged: false })).toEqual([])
    },
  )

  proves(
    'question.flow',
    'a call that is made again is judged by where its values were seen when it was asked about',
    () => {
      const contracts = [
        {
          tool: 'pay',
          sources: [{ path: '$.to', role: 'reference', from: ['user'] }],
          checkpoint: { when: [{ path: '$.amount', gt: 200 }], reason: 'large', ask: {} },
        },
      ]
      const call: [string, JsonObject] = ['pay', { to: 'bob@x.org', amount: 300 }]
      const amount = { path: '$.amount', kind: 'number' as const, sources: [] }
      const leaves: CallFlow['leaves'] = [amount, { path: '$.to', kind: 'email', sources: [{ seen: 'user' }] }]
      const seen: CallFlow = { call_id: 'c0', tool: 'pay', leaves, prior_tools: [], prior_calls: 0 }
      const s = session({ contracts })
      const id = questionOf(s.propose([call], { flows: { calls: [seen] } }))
      expect(s.flow(id)).toEqual(seen)
      s.answer(id, 'ada')
      expect(first(s.propose([call], { redeems: id }))).toMatchObject({
        decision: 'block',
        reason: 'argument_value_mismatch',
      })
      expect(first(s.propose([call], { redeems: id, flowsOf: new Map([[id, seen]]) }))).toMatchObject({
        decision: 'allow',
      })
    },
  )

  proves(
    'question.flow',
    'a list that a person shortened moves nothing of what was seen of the values after it',
    () => {
      const contracts = [
        {
          tool: 'pay',
          sources: [{ path: '$.to', role: 'reference', from: ['user'] }],
          checkpoint: { reason: 'r', ask: { edit: [{ path: '$.items', to: 'fewer' }] } },
        },
      ]
      const call: [string, JsonObject] = ['pay', { items: ['a-1', 'b-2'], to: 'bob@x.org' }]
      const nowhere = { path: '$.items[*]', kind: 'id' as const, sources: [] }
      const leaves: CallFlow['leaves'] = [
        nowhere,
        nowhere,
        { path: '$.to', kind: 'email', sources: [{ seen: 'user' }] },
      ]
      const seen: CallFlow = { call_id: 'c0', tool: 'pay', leaves, prior_tools: [], prior_calls: 0 }
      const s = session({ contracts })
      const id = questionOf(s.propose([call], { flows: { calls: [seen] } }))
      const edited: JsonObject = { items: ['b-2'], to: 'bob@x.org' }
      s.answer(id, 'ada', 'approve', { edited_hash: saltedHash(SALT, edited) })
      const verdict = s.propose([['pay', edited]], { redeems: id, flowsOf: new Map([[id, seen]]) })
      expect(first(verdict)).toMatchObject({ decision: 'allow', approval: { question_id: id } })
    },
  )

  test('in shadow nobody is asked', () => {
    const compiled = compilePlan({ contracts: [{ file: 'a', value: ASKING_CONTRACTS[0] }] })
    if (!compiled.ok) throw new Error('the plan must compile')
    expect(compiled.plan.asksPeople).toBe(true)
    const s = session({ contracts: [{ tool: 'pay', checkpoint: { reason: 'x' } }] })
    expect(first(s.propose([PAY]))).toMatchObject({ decision: 'allow', checkpoint_required: true })
  })
})

const LIMITED = {
  type: 'object',
  properties: {
    amount: { type: 'number', minimum: 1 },
    fee: { type: 'number' },
    currency: { enum: ['EUR', 'CHF'] },
    note: { type: 'string' },
  },
}

proves(
  ['question.compile-errors', 'question.edited'],
  'an edit without bounds, of many or by many does not compile',
  () => {
    const errors = (edit: object[], more: object = {}, ask: object = {}) => {
      const value = { tool: 'pay', arguments: LIMITED, checkpoint: { reason: 'r', ask: { edit, ...ask } }, ...more }
      const compiled = compilePlan({ contracts: [{ file: 'a.yaml', value }] })
      return compiled.ok ? [] : compiled.errors.map(({ path, message }) => `${path}: ${message}`)
    }
    const lower = { path: '$.amount', to: 'lower' }
    expect(errors([lower, { path: '$.currency', to: 'one_of' }, { path: '$.items', to: 'fewer' }])).toEqual([])
    const bounded = { argument_value_invariants: [{ path: '$.fee', gt: 0 }] }
    expect(errors([{ path: '$.fee', to: 'lower' }], bounded)).toEqual([])
    const sometimes = { argument_value_invariants: [{ path: '$.fee', gt: 0, when: [{ label: 'x' }] }] }
    for (const more of [{}, sometimes]) {
      expect(errors([{ path: '$.fee', to: 'lower' }], more)).toEqual([
        expect.stringContaining('does not say how low $.fee may be'),
      ])
    }
    expect(errors([{ path: '$.note', to: 'one_of' }])).toEqual([expect.stringContaining('lists no values for $.note')])
    expect(errors([{ path: '$.items[*].price', to: 'lower' }])).toEqual([
      expect.stringContaining('an edit changes one value'),
    ])
    expect(errors([{ path: '$', to: 'fewer' }])).toEqual([expect.stringContaining('`$` is all of them')])
    expect(errors([lower, lower])).toEqual([expect.stringContaining('named twice')])
    expect(errors([lower], {}, { count: 2 })).toEqual([expect.stringContaining('several people decide')])
    const sources = [{ path: '$.items[*]', from: ['user'] }]
    expect(errors([{ path: '$.items', to: 'fewer' }], { sources })).toEqual([expect.stringContaining('`sources` says')])
    expect(errors([{ path: '$.items[-1].price', to: 'lower' }])).toEqual([
      expect.stringContaining('counts from the end'),
    ])
    const judgedByResponse = (path: string) => ({ assertions: { output_invariants: [{ path, gte: 100 }] } })
    for (const path of ['$.tool_calls[0].arguments.amount', '$..amount'])
      expect(errors([lower], judgedByResponse(path))).toEqual([expect.stringContaining('as the model gave it')])
    expect(errors([lower], judgedByResponse('$.content'))).toEqual([])
    expect(errors([{ path: '$.amount', to: 'higher' }])).toHaveLength(1)
    const inSession = compilePlan({
      contracts: [],
      session: { file: 'session.yaml', value: { ask: { edit: [lower] } } },
    })
    expect(inSession).toMatchObject({ ok: false })
  },
)

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
