import { randomUUID } from 'node:crypto'
import type { CaptureItem, JsonObject, Quota, Reply, Routes, RunFixture } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { batchOf, capturesOf, mailConversation } from '../../support/data/captures.js'
import { proves } from '../../support/proves.js'
import { HELP_DESK, planOf } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime({ instances: 2 })

const plan = { compiled_session: planOf(HELP_DESK).compiled_session }
const refund = (amount: number) => ({ name: 'issue_refund', arguments: { order_id: 'A-1', amount } })
const lookup = { name: 'lookup_order', arguments: { order_id: 'A-1' }, result: { id: 'A-1' } }
const fixture = (name: string, ...calls: RunFixture['turns'][number]['calls']): RunFixture => ({
  name,
  turns: calls.map((call) => ({ calls: [call] })),
})
const body = (fixtures: RunFixture[], run_id: string = randomUUID()) => ({ run_id, plan, against: { fixtures } })

async function finished(run: Reply<Routes['createRun']>): Promise<Reply<Routes['loadRun']>['run']> {
  for (let wait = 0; wait < 1_200; wait++) {
    const answer = (await api.loadRun({ params: { run_id: run.run.run_id } })).body.run
    if (answer.status === 'done' || answer.status === 'failed') return answer
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error('the run did not end')
}

proves('endpoint.runs', async () => {
  const fixtures = [
    fixture('in order', lookup, refund(20)),
    fixture('out of order', refund(20)),
    fixture('too much, as expected', lookup, { ...refund(900), expect: 'block' }),
    fixture('sums up', lookup, refund(500), refund(500), refund(1)),
  ]
  const answer = await api.createRun({ body: body(fixtures) })
  expect(answer.status).toBe(201)
  const { report, status } = answer.body.run
  expect(status).toBe('done')
  expect(report).toMatchObject({
    sessions: 4,
    sessions_passed: 2,
    calls: 9,
    calls_blocked: 3,
    coverage: 1,
    pass_rate: 0.5,
  })
  expect(report?.would_block).toEqual({
    aggregate_limit_exceeded: 1,
    argument_value_mismatch: 1,
    precondition_not_met: 1,
  })
  expect(
    report?.divergences.map(({ session, turn, tool_name, reasons }) => [session, turn, tool_name, reasons[0]]),
  ).toEqual([
    ['out of order', 0, 'issue_refund', 'precondition_not_met'],
    ['sums up', 3, 'issue_refund', 'aggregate_limit_exceeded'],
  ])
  const paths = report?.coverage_by_tool.find(({ tool_name }) => tool_name === 'issue_refund')?.argument_paths
  expect(paths).toEqual([
    { path: '$.amount', seen: 6, constrained: true },
    { path: '$.order_id', seen: 6, constrained: true },
  ])
})

test('the same run again gets the same answer and costs nothing; another body is refused', async () => {
  const first = await api.createRun({ body: body([fixture('a', lookup)], 'again') })
  const second = await api.createRun({ body: body([fixture('a', lookup)], 'again') })
  expect(second.body.run).toEqual(first.body.run)
  expect(second.body.budget.used).toBe(first.body.budget.used)
  expect((await api.createRun({ body: body([fixture('b', lookup)], 'again') })).status).toBe(400)
})

test('captured sessions are judged in the background, with the flows they were captured with', async () => {
  const captures = ['Ann', 'Bob'].flatMap((name) => mailConversation('runner', name))
  await api.ingestCaptures(batchOf(captures))
  const mail = planOf([
    { tool: 'find_person', side_effect: 'read' },
    { tool: 'send_mail', side_effect: 'write', sources: [{ path: '$.to', from: ['user'], otherwise: 'block' }] },
  ])
  const started = await api.createRun({
    body: { run_id: randomUUID(), plan: { compiled_session: mail.compiled_session }, against: { agent: 'runner' } },
  })
  const { report } = await finished(started.body)
  expect(report).toMatchObject({ sessions: 2, sessions_passed: 0, calls: 4, calls_blocked: 2 })
  expect(report?.would_block).toEqual({ argument_value_mismatch: 2 })
  expect(report?.divergences[0]?.remedy).toContain('find_person')
})

test('a plan that no session could be created with cannot be tried in a run either', async () => {
  const { contracts, ...rest } = plan.compiled_session
  const withSchemas = (count: number, schema: JsonObject) => ({
    compiled_session: {
      ...rest,
      contracts: [
        ...contracts,
        ...Array.from({ length: count }, (_, at) => ({ ...contracts[0], tool: `t${at}`, arguments: schema })),
      ],
    },
  })
  const run = (plan: object) => api.createRun({ body: { ...body([fixture('a', lookup)]), plan: plan as never } })
  const long = await run(withSchemas(10, { description: 'x'.repeat(55_000) }))
  expect(long.status).toBe(400)
  expect(long.problem).toMatchObject({ code: 'PLAN_INVALID', detail: expect.stringContaining('larger than 524288') })
})

test('a plan that nobody sent is 404, and a run of another tenant too', async () => {
  const unknown = { ...body([fixture('a', lookup)]), plan: { compiled_hash: 'b'.repeat(64) } }
  expect((await api.createRun({ body: unknown })).problem.code).toBe('PLAN_UNKNOWN')
  const { run_id } = (await api.createRun({ body: body([fixture('a', lookup)]) })).body.run
  const other = runtime.api((await runtime.createTenant()).key)
  expect((await other.loadRun({ params: { run_id } })).status).toBe(404)
})

proves(
  ['endpoint.runs.budget', 'limit.runs-no-daily-cap'],
  'the budget of 30 days is kept to the last run, over two instances, and may be used up in one day',
  async () => {
    const { key, tenantId } = await runtime.createTenant({ quota: 'free' })
    await runtime.sql`update tenants set quota = 'free' where tenant_id = ${tenantId}`
    await runtime.sql`
    insert into runs (tenant_id, run_id, status, compiled_hash, body_hash, created_at)
    select ${tenantId}, 'old-' || n, 'done', 'x', 'x', clock_timestamp() - interval '31 days' from generate_series(1, 50) n
    union all
    select ${tenantId}, 'new-' || n, 'done', 'x', 'x', clock_timestamp() from generate_series(1, 97) n`
    const clients = runtime.instances.map((instance) => runtime.api(key, instance))
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) => clients[at % 2]?.createRun({ body: body([fixture('a', lookup)]) })),
    )
    const statuses = answers.map((answer) => answer?.status)
    expect(statuses.filter((status) => status === 201)).toHaveLength(3)
    expect(statuses.filter((status) => status === 429)).toHaveLength(9)
    expect(answers.find((answer) => answer?.status === 429)?.problem.code).toBe('RUN_BUDGET_EXCEEDED')
  },
)

const BUDGETS: [Quota, number][] = [
  ['free', 100],
  ['team', 5_000],
  ['scale', 100_000],
]
for (const [quota, budget] of BUDGETS) {
  proves('limit.runs-budget', `a tenant of quota ${quota} runs ${budget} in 30 days and no more`, async () => {
    const { key, tenantId } = await runtime.createTenant({ quota })
    await runtime.sql`
      insert into runs (tenant_id, run_id, status, compiled_hash, body_hash, created_at)
      select ${tenantId}, 'new-' || n, 'done', 'x', 'x', clock_timestamp() - interval '29 days'
      from generate_series(1, ${budget - 1}) n`
    const create = () => runtime.api(key).createRun({ body: body([fixture('a', lookup)]) })
    const last = await create()
    expect([last.status, last.body.budget]).toEqual([201, { used: budget, limit: budget }])
    const refused = await create()
    expect([refused.status, refused.problem.code, refused.problem.limit]).toEqual([429, 'RUN_BUDGET_EXCEEDED', budget])
    await runtime.sql`
      update runs set created_at = clock_timestamp() - interval '30 days' - interval '1 second'
      where tenant_id = ${tenantId} and run_id = 'new-1'`
    expect((await create()).status).toBe(201)
  })
}

/** A desk that asks for a token and uses it. */
const tokenDesk = (agent: string, token: string, given: Partial<CaptureItem> = {}) =>
  capturesOf(
    agent,
    'Send the form',
    [
      { name: 'get_token', args: {}, result: { token: 'tok-12399', price: 5 } },
      { name: 'send_form', args: { token, amount: 4 } },
    ],
    given,
  )
const withOutputs = planOf([
  {
    tool: 'get_token',
    side_effect: 'read',
    binds: [{ name: 'token', from: 'output', path: '$.token' }],
    establishes: [{ name: 'price', from: 'output', path: '$.price' }],
  },
  {
    tool: 'send_form',
    side_effect: 'write',
    refs: [{ path: '$.token', ref: 'token' }],
    argument_value_invariants: [{ path: '$.token', ref: 'token' }],
    sources: [{ path: '$.token', from: ['identifier'], otherwise: 'block' }],
    envelopes: [{ name: 'price', path: '$.amount', direction: 'at_most' }],
    preconditions: [{ requires_prior_tool: 'get_token', with_output: [{ path: '$.token', exists: true }] }],
    assertions: { input_invariants: [{ path: '$.model', regex: '^gpt-' }] },
    policy: { cedar: 'permit (principal, action, resource) when { principal.role == "desk" };' },
  },
])
async function backtest(agent: string, more: { max_sessions?: number } = {}) {
  const plan = { compiled_session: withOutputs.compiled_session }
  const started = await api.createRun({ body: { run_id: randomUUID(), plan, against: { agent, ...more } } })
  const run = await finished(started.body)
  if (run.report === null) throw new Error(run.error ?? 'no report')
  return { ...run.report, sessions_done: run.sessions_done }
}

test('captured sessions are judged by refs as far as flows tell results, and the report names what nobody could judge', async () => {
  await api.ingestCaptures(batchOf([...tokenDesk('forms', 'tok-12399'), ...tokenDesk('forms', 'tok-66699')]))
  const report = await backtest('forms')
  expect(report).toMatchObject({ sessions: 2, sessions_passed: 1, sessions_done: 2, calls_blocked: 1 })
  expect(report.divergences[0]?.reasons).toContain('binding_not_found')
  expect(report.not_judged).toEqual({ envelopes: 2, input_invariants: 2, policy: 2, with_output: 2 })
})

test('a session without flows is judged by neither sources nor refs, and the report says so', async () => {
  const bare = tokenDesk('bare', 'tok-66699').map(({ flows: _, ...capture }) => capture)
  await api.ingestCaptures(batchOf(bare))
  const report = await backtest('bare')
  expect(report).toMatchObject({ sessions: 1, sessions_passed: 1, calls_blocked: 0 })
  expect(report.not_judged).toMatchObject({ sources: 1, refs: 1 })
})

test('fixtures say so too, of what reads the request', async () => {
  const plan = { compiled_session: withOutputs.compiled_session }
  const against = { fixtures: [{ ...fixture('a', lookup), principal: { id: 'x' } }] }
  const unread = await api.createRun({ body: { run_id: randomUUID(), plan, against } })
  expect(unread.body.run.report?.not_judged).toEqual({})
  const read = { fixtures: [fixture('b', { name: 'send_form', arguments: {}, expect: 'block' })] }
  const { body } = await api.createRun({ body: { run_id: randomUUID(), plan, against: read } })
  expect(body.run.report?.not_judged).toEqual({ input_invariants: 1 })
})

test('the newest conversations are judged first, whatever their ids', async () => {
  const on = (day: number, conversation_id: string, token: string) =>
    tokenDesk('aged', token, { conversation_id }).map((capture, second) => ({
      ...capture,
      timestamp: new Date(Date.UTC(2026, 0, day, 0, 0, second)).toISOString(),
    }))
  const captures = [
    on(9, 'a-newest', 'tok-12399'),
    on(1, 'b-oldest', 'tok-66699'),
    on(2, 'c-older', 'tok-66699'),
    on(8, 'd-newer', 'tok-12399'),
  ]
  await api.ingestCaptures(batchOf(captures.flat()))
  expect(await backtest('aged', { max_sessions: 2 })).toMatchObject({ sessions: 2, sessions_passed: 2 })
  const all = await backtest('aged')
  expect(all.divergences.map(({ session }) => session)).toEqual(['c-older', 'b-oldest'])
})
