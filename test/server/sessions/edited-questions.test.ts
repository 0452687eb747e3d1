import type { Contract, JsonObject } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { params, withAsking } from '../../support/model/asking-people.js'
import { proves } from '../../support/proves.js'
import {
  type GovernedSession,
  openSession,
  receiptFor,
  succeeded,
  type ToolUse,
} from '../../support/runtime/governed-session.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { planOf } from '../../support/runtime/plans.js'

const CONTRACTS: readonly Contract[] = [
  {
    tool: 'pay',
    side_effect: 'financial',
    argument_value_invariants: [
      { path: '$.amount', gte: 10 },
      { path: '$.to', length_gte: 2, when: [{ path: '$.currency', equals: 'CHF' }] },
      { path: '$.currency', one_of: ['EUR', 'CHF'] },
    ],
    aggregates: [{ name: 'paid', path: '$.amount', lte: 1_000 }],
    checkpoint: [
      {
        when: [{ path: '$.amount', gt: 200 }],
        reason: 'large payment',
        ask: {
          edit: [
            { path: '$.amount', to: 'lower' },
            { path: '$.to', to: 'fewer' },
            { path: '$.currency', to: 'one_of' },
          ],
        },
      },
      {
        when: [
          { path: '$.currency', equals: 'CHF' },
          { path: '$.amount', lt: 50 },
        ],
        reason: 'odd',
        ask: {},
      },
    ],
  },
]
const plan = planOf(CONTRACTS)
const ASKED = { amount: 900, to: ['ann', 'bob'], currency: 'EUR' }

const { runtime, api, approver, viewer, load, answer, storedAnswers, proofOf, waitingList } = await withAsking()

const pay = (given: JsonObject = {}): ToolUse[] => [{ name: 'pay', args: { ...ASKED, ...given } }]

async function asked(runs: 'judged' | 'own' = 'judged') {
  const session = await openSession(api, { plan })
  const { decisions } = await session.decide(pay(), { runs })
  const id = decisions[0]?.question?.question_id ?? ''
  return { session, id, decision: decisions[0] }
}

const redeem = (session: GovernedSession, id: string, given: JsonObject) =>
  session.decide(pay(given), { runs: 'judged', redeems: [{ call_id: 'call_0', question_id: id }] })

proves(
  ['question.edited', 'question.used-once'],
  'a member lowers an amount: the changed call runs once, the one that was asked about does not, and the record says so',
  async () => {
    const { session, id } = await asked()
    expect((await load(approver, id)).card?.edit).toEqual([
      { path: '$.amount', to: 'lower' },
      { path: '$.to', to: 'fewer' },
      { path: '$.currency', to: 'one_of', values: ['EUR', 'CHF'] },
    ])
    const edited = { ...ASKED, amount: 400, to: ['ann'] }
    const approved = await answer(approver, id, 'approve', { arguments: edited, note: 'half of it' })
    expect(approved.body).toMatchObject({ question: { state: 'approved' }, answers: [{ edited, note: 'half of it' }] })
    expect((await waitingList(session)).body.questions).toMatchObject([
      { state: 'approved', arguments: edited, asked_arguments: ASKED, edited_hash: session.hash(edited) },
    ])
    expect((await session.decide(pay())).decisions[0]).toMatchObject({
      decision: 'block',
      question: { question_id: id, state: 'approved', edited: true },
    })
    const { decisions } = await redeem(session, id, edited)
    expect(decisions[0]).toMatchObject({
      decision: 'allow',
      approval: { question_id: id },
      argument_hash: session.hash(edited),
    })
    session.stateVersion = (await session.receipts(succeeded(decisions))).body.state_version
    expect((await redeem(session, id, edited)).decisions[0]).toMatchObject({
      reason: 'checkpoint_denied',
      question: { question_id: id, state: 'used' },
    })
    const { events } = await exportOf(api, session.sessionId)
    expect(events.find(({ type }) => type === 'answered')?.body).toMatchObject({ edited_hash: session.hash(edited) })
    expect(await proofOf(session)).toMatchObject({ verified: true, problem: null })
  },
)

proves('question.edited', 'an edit upwards, of anything else, or that breaks a rule is 400 and no answer', async () => {
  const { id } = await asked()
  const refused: [JsonObject, string][] = [
    [{ amount: 901 }, '$.amount may only be lower than 900'],
    [{ amount: '400' }, '$.amount must be a number'],
    [{ to: ['ann', 'eve'] }, '$.to may only lose elements'],
    [{ to: [] }, '$.to must keep at least one of its elements'],
    [{ currency: 'USD' }, '$.currency must be one of the values'],
    [{ memo: 'x' }, 'only $.amount, $.to, $.currency may be changed'],
    [{}, 'nothing is changed'],
    [{ amount: 5 }, 'the changed call would be blocked: Correct $.tool_calls[0].arguments.amount'],
    [{ to: ['ann'], currency: 'CHF' }, 'the changed call would be blocked'],
    [{ amount: 20, currency: 'CHF' }, 'the changed call asks for more than the call as asked'],
  ]
  for (const [given, words] of refused) {
    const { status, text } = await answer(approver, id, 'approve', { arguments: { ...ASKED, ...given } })
    expect([given, status, text]).toEqual([given, 400, expect.stringContaining(words)])
  }
  const denied = await answer(approver, id, 'deny', { arguments: { ...ASKED, amount: 400 } })
  expect([denied.status, denied.text]).toEqual([400, expect.stringContaining('a call that is denied is not changed')])
  expect((await answer(viewer, id, 'approve', { arguments: { ...ASKED, amount: 400 } })).status).toBe(403)
  expect(await storedAnswers(id)).toEqual([])
  expect((await load(approver, id)).question).toMatchObject({ state: 'waiting', have: 0 })
})

proves(
  'question.edited',
  'where the program runs the arguments of its model, or another is asked, nothing is changed',
  async () => {
    const { id } = await asked('own')
    expect((await load(approver, id)).card?.edit).toEqual([])
    const { status, text } = await answer(approver, id, 'approve', { arguments: { ...ASKED, amount: 400 } })
    expect([status, text]).toEqual([400, expect.stringContaining('no argument may be changed')])
  },
)

proves('question.one-order', 'the same edit again is one answer; another is refused', async () => {
  const { id } = await asked()
  const { card_hash } = await load(approver, id)
  const send = (amount: number) =>
    approver.call('answerQuestion', {
      params: params(id),
      body: { card_hash, decision: 'approve', arguments: { ...ASKED, amount } },
    })
  expect([(await send(400)).status, (await send(400)).status, (await send(300)).status]).toEqual([200, 200, 409])
  const plain = await approver.call('answerQuestion', { params: params(id), body: { card_hash, decision: 'approve' } })
  expect(plain.status).toBe(409)
  expect(await storedAnswers(id)).toHaveLength(1)
})

proves(
  'question.edited',
  'the changed call is judged again when it runs: a limit that was used up meanwhile blocks it',
  async () => {
    const { session, id } = await asked()
    const edited = { ...ASKED, amount: 400 }
    await answer(approver, id, 'approve', { arguments: edited })
    for (let paid = 0; paid < 4; paid++) await session.turn(pay({ amount: 190 }))
    expect((await redeem(session, id, edited)).decisions[0]).toMatchObject({
      decision: 'block',
      reason: 'aggregate_limit_exceeded',
    })
    expect((await load(approver, id)).question.state).toBe('approved')
    expect(await proofOf(session)).toMatchObject({ verified: true })
  },
)

test('a limit that blocks the call as asked just as much is left to when it runs', async () => {
  const { session, id } = await asked()
  for (let paid = 0; paid < 5; paid++) await session.turn(pay({ amount: 190 }))
  expect((await answer(approver, id, 'approve', { arguments: { ...ASKED, amount: 400 } })).status).toBe(200)
})

proves('question.edited', 'a receipt with the hash of the call as asked compromises the session', async () => {
  const { session, id } = await asked()
  const edited = { ...ASKED, amount: 400 }
  await answer(approver, id, 'approve', { arguments: edited })
  const [decision] = (await redeem(session, id, edited)).decisions
  if (decision === undefined) throw new Error('nothing was decided')
  const late = await session.receipts([receiptFor(decision, { argument_hash: session.hash(ASKED) })])
  expect(late.status).toBe(409)
  expect((await session.load()).session.status).toBe('COMPROMISED')
})

proves(
  'question.verified',
  'an edit that was changed in the database, or that its card does not allow, is named',
  async () => {
    const { session, id } = await asked()
    await answer(approver, id, 'approve', { arguments: { ...ASKED, amount: 400 } })
    expect(await proofOf(session)).toMatchObject({ verified: true })
    await runtime.sql`update answers set edited = jsonb_set(edited::jsonb, '{amount}', '399')::json where question_id = ${id}`
    expect((await proofOf(session)).problem).toContain('the edit of an answer')
  },
)
