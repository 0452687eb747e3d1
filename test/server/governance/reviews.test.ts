import type { CaptureItem, PlanDetail } from '@countersign/protocol'
import { expect } from 'vitest'
import { batchOf, capturesOf } from '../../support/data/captures.js'
import { proves } from '../../support/proves.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, owner, api } = await withOwnedRuntime()

const REFUNDS = [
  { file: 'contracts/find_order.yaml', text: 'tool: find_order\nside_effect: read\n' },
  {
    file: 'contracts/issue_refund.yaml',
    text: 'tool: issue_refund\nside_effect: financial\ngate: allow\nargument_value_invariants:\n  - { path: $.amount, lte: 100 }\n',
  },
]

const submitted = async (agent: string, files = REFUNDS): Promise<PlanDetail> =>
  (await api.submitPlan({ body: { agent, environment: 'production', files } })).body

type Validation = NonNullable<CaptureItem['validation']>

/** A refund, and what was decided about it when it was captured. */
const refunded = (agent: string, amount: number, mode: Validation['mode'], decision: 'allow' | 'block') =>
  capturesOf(agent, 'Please refund my order', [{ name: 'issue_refund', args: { amount } }], {
    validation: {
      mode,
      pass: decision === 'allow',
      calls: [{ index: 0, decision, reasons: decision === 'allow' ? [] : ['gate_blocked'] }],
    },
  })

async function backtested({ plan }: PlanDetail): Promise<string> {
  const { run } = (await owner.call('startRun', { body: { plan_id: plan.plan_id } })).body
  for (let tries = 0; tries < 600; tries += 1) {
    const { body } = await owner.call('loadRunDetail', { params: { run_id: run.run_id } })
    if (body.run.status === 'done') return run.run_id
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error('the backtest did not end')
}

const load = async ({ plan }: PlanDetail) => (await owner.call('loadPlan', { params: { plan_id: plan.plan_id } })).body
const approve = ({ plan }: PlanDetail) =>
  owner.call('approvePlan', {
    params: { plan_id: plan.plan_id },
    body: { why: 'reviewed', compiled_hash: plan.compiled_hash },
  })
const approvalOf = async ({ plan }: PlanDetail) =>
  (await owner.call('listAudit', { query: { subject: plan.plan_id } })).body.items.find(
    ({ action }) => action === 'plan_approved',
  )?.detail

proves(
  'people.review.changed-calls',
  'a verdict without force changes nothing about what happened: the call ran',
  async () => {
    await api.ingestCaptures(
      batchOf([
        ...refunded('desk', 50, 'enforce', 'block'),
        ...refunded('desk', 60, 'enforce', 'block'),
        ...refunded('desk', 70, 'shadow', 'block'),
        ...refunded('desk', 900, 'advisory', 'block'),
        ...capturesOf('desk', 'Where is my order?', [{ name: 'find_order', args: { id: 'A-1' } }]),
        ...capturesOf('desk', 'Close my account', [{ name: 'delete_account', args: { id: 'C-1' } }]),
      ]),
    )
    const draft = await submitted('desk')
    const runId = await backtested(draft)
    expect((await load(draft)).backtest).toMatchObject({
      run_id: runId,
      sessions: 6,
      sessions_passed: 2,
      calls: 6,
      newly_allowed: 2,
      newly_blocked: 2,
      changed_calls: [
        { tool_name: 'issue_refund', side_effect: 'financial', newly_allowed: 2, asked: 0, newly_blocked: 1 },
        { tool_name: 'delete_account', side_effect: null, newly_allowed: 0, asked: 0, newly_blocked: 1 },
      ],
      not_judged: {},
    })
  },
)

proves('people.review.effect-first', 'by the stricter side effect of a plan and the one that it replaces', async () => {
  await approve(await submitted('clerk'))
  await api.ingestCaptures(batchOf(refunded('clerk', 900, 'enforce', 'block')))
  const renamed = REFUNDS.map(({ file, text }) => ({
    file,
    text: text.replace('financial', 'read').replace('lte: 100', 'lte: 1000'),
  }))
  const draft = await submitted('clerk', renamed)
  await backtested(draft)
  expect((await load(draft)).backtest?.changed_calls).toMatchObject([
    { tool_name: 'issue_refund', side_effect: 'financial', newly_allowed: 1 },
  ])
})

proves(
  'people.review.evidence',
  'the newest that has finished, of these very contracts and this agent, whatever the page knows',
  async () => {
    await api.ingestCaptures(batchOf(refunded('till', 50, 'enforce', 'block')))
    const draft = await submitted('till')
    expect(await load(draft)).toMatchObject({ backtest: null, backtest_under_way: false })
    const first = await backtested(draft)
    await api.ingestCaptures(batchOf(refunded('till', 900, 'enforce', 'allow')))
    const second = await backtested(draft)
    // Of another agent, and one that has not finished: neither is evidence.
    await runtime.sql`
      insert into runs (tenant_id, run_id, status, compiled_hash, against, body_hash, report, created_at)
      select tenant_id, 'of-another', status, compiled_hash, jsonb_set(against::jsonb, '{agent}', '"desk"')::json,
        body_hash, report, clock_timestamp() from runs where run_id = ${first}
      union all
      select tenant_id, 'under-way', 'running', compiled_hash, against, body_hash, null, clock_timestamp()
      from runs where run_id = ${first}`
    expect(await load(draft)).toMatchObject({ backtest: { run_id: second }, backtest_under_way: true })
    expect((await approve(draft)).status).toBe(200)
    expect(await approvalOf(draft)).toBe(
      `reviewed (backtest ${second}; sessions that would change: 2 of 2; blocked calls that would run: 1; ` +
        'allowed calls that would be blocked: 1; another backtest was under way)',
    )
  },
)

proves('people.review.evidence', 'without one the approval says so, and whether one was under way', async () => {
  const untried = await submitted('kiosk')
  await approve(untried)
  expect(await approvalOf(untried)).toBe('reviewed (no backtest had finished)')
  const [find] = REFUNDS
  const tried = await submitted('kiosk', find === undefined ? [] : [find])
  await runtime.sql`
    insert into runs (tenant_id, run_id, status, compiled_hash, against, body_hash, created_at)
    select tenant_id, 'waiting', 'queued', ${tried.plan.compiled_hash}, '{"agent":"kiosk"}'::json, 'x', clock_timestamp()
    from plans where compiled_hash = ${tried.plan.compiled_hash}`
  expect(await load(tried)).toMatchObject({ backtest: null, backtest_under_way: true })
  await approve(tried)
  expect(await approvalOf(tried)).toBe('reviewed (no backtest had finished; one was under way)')
})
