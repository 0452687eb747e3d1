import type { Contract } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { learnCaptures } from '../../../packages/server/src/captures/learn-captures.js'
import { listDecidedCalls } from '../../../packages/server/src/store/questions/question-stats.js'
import { batchOf, mailConversation } from '../../support/data/captures.js'
import { withAsking } from '../../support/model/asking-people.js'
import { proves } from '../../support/proves.js'
import { openSession } from '../../support/runtime/governed-session.js'
import { planOf } from '../../support/runtime/plans.js'

const PAY = `tool: pay
side_effect: financial
gate: allow
checkpoint:
  when: [{ path: $.amount, gt: 200 }]
  reason: large payment
  ask: { role: finance }
`
const CONTRACT: Contract = {
  tool: 'pay',
  side_effect: 'financial',
  gate: 'allow',
  checkpoint: { when: [{ path: '$.amount', gt: 200 }], reason: 'large payment', ask: { role: 'finance' } },
}

const { runtime, parts, api, owner, finance, viewer, answer, team } = await withAsking()
const draft = (body: { agent: string; rule: string }, person: Pick<typeof finance, 'call'> = finance) =>
  person.call('draftAskingLess', { body })

/** Asks about payments of these amounts, of which people deny some. */
async function decide(agent: string, amounts: Readonly<Record<number, 'approve' | 'deny'>>): Promise<void> {
  const session = await openSession(api, { plan: planOf([CONTRACT]), agent, environment: 'production' })
  for (const [amount, decision] of Object.entries(amounts)) {
    const { decisions } = await session.decide([{ name: 'pay', args: { amount: Number(amount) } }])
    await answer(finance, decisions[0]?.question?.question_id ?? '', decision)
  }
}

proves('question.ask-less', 'the plan in force is drafted with a bound as far as people approved', async () => {
  const scope = { agent: 'desk', environment: 'production' } as const
  const { body: submitted } = await api.submitPlan({ body: { ...scope, files: [{ file: 'pay.yaml', text: PAY }] } })
  await owner.call('approvePlan', { params: { plan_id: submitted.plan.plan_id }, body: { why: 'reviewed' } })
  await decide('desk', { 300: 'approve', 450: 'approve', 900: 'deny', 1200: 'approve' })
  // Who changed a call has not approved what was asked.
  const changed = 'f'.repeat(64)
  await runtime.sql`update questions set edited_hash = ${changed} where card -> 'arguments' ->> 'amount' = '450'`

  expect((await draft({ agent: 'desk', rule: 'pay#0' }, viewer)).code).toBe('ROLE_NEEDED')
  const { status, body } = await draft({ agent: 'desk', rule: 'pay#0' })
  expect([status, body.change]).toEqual([
    201,
    { was: '$.amount is above 200', is: '$.amount is above 300', decided: 4, denied: 2, still_asked: 3 },
  ])
  const { body: detail } = await owner.call('loadPlan', { params: { plan_id: body.plan_id } })
  expect(detail.plan).toMatchObject({ ...scope, state: 'draft', created_by: finance.email })
  expect(detail.files[0]?.text).toContain('gt: 300')
  expect(detail.changes).toMatchObject([{ tool_name: 'pay', effect: 'allows' }])
  // However many were approved since: what was not stands first.
  const [row] = await runtime.sql<{ tenantId: string }[]>`select tenant_id from questions where agent = 'desk' limit 1`
  const of = { tenantId: row?.tenantId ?? '', agent: 'desk', rule: 'pay#0', limit: 2 }
  const { decided } = await listDecidedCalls(runtime.sql, of)
  expect(decided.map((one) => one.arguments.amount)).toEqual([900, 450])
  // A reply may be lost: the same draft again.
  expect((await draft({ agent: 'desk', rule: 'pay#0' })).body.plan_id).toBe(body.plan_id)
})

proves('question.ask-less', 'of what was learned, the plan is learned anew', async () => {
  await decide('learner', { 300: 'approve' })
  await runtime.sql`update questions set rule = 'pay#unusual' where agent = 'learner'`
  await api.ingestCaptures(batchOf(mailConversation('learner', 'Ann')))
  while ((await learnCaptures(parts)) > 0) {
    // Until nothing is left.
  }
  const { status, body } = await draft({ agent: 'learner', rule: 'pay#unusual' })
  expect([status, body.change]).toEqual([201, null])
  const { body: detail } = await owner.call('loadPlan', { params: { plan_id: body.plan_id } })
  expect(detail.plan).toMatchObject({ agent: 'learner', environment: 'production', state: 'draft', origin: 'learned' })
})

test('where it cannot be done, why', async () => {
  await decide('clerk', { 300: 'approve' })
  const refused = async (agent: string, rule: string) => (await draft({ agent, rule })).text
  expect(await refused('clerk', 'pay#0')).toContain('no plan was approved for clerk in production')
  expect(await refused('clerk', 'pay#7')).toContain('has asked nothing')
  expect(await refused('nobody', 'pay#0')).toContain('has asked nothing')
  const other = await team()
  expect((await draft({ agent: 'clerk', rule: 'pay#0' }, other.finance)).status).toBe(404)
})
