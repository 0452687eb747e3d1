import type { LedgerCall } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { PAY, questionOf, SALT, askingSession as session } from '../../../../test/support/model/asking-session.js'
import { proves } from '../../../../test/support/proves.js'
import { saltedHash } from '../json/hash.js'

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
        rules: ['pay#0'],
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
    ['which was not about pay#1', (call) => withQuestion(call, { rules: ['pay#0', 'pay#1'] }), approve],
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
