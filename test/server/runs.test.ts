import { randomUUID } from 'node:crypto'
import type { Reply, Routes, RunFixture } from '@countersign/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { batchOf, mailConversation } from '../support/captures.js'
import { HELP_DESK, planOf } from '../support/plans.js'
import { proves } from '../support/proves.js'
import { type Api, type Runtime, startRuntime } from '../support/runtime.js'

let runtime: Runtime
let api: Api
beforeAll(async () => {
  runtime = await startRuntime({ instances: 2 })
  api = runtime.api()
})
afterAll(() => runtime.close())

const plan = { compiled_session: planOf(HELP_DESK).compiled_session }
const refund = (amount: number) => ({ name: 'issue_refund', arguments: { order_id: 'A-1', amount } })
const lookup = { name: 'lookup_order', arguments: { order_id: 'A-1' }, result: { id: 'A-1' } }
const fixture = (name: string, ...calls: RunFixture['turns'][number]['calls']): RunFixture => ({
  name,
  turns: calls.map((call) => ({ calls: [call] })),
})
const body = (fixtures: RunFixture[], run_id: string = randomUUID()) => ({ run_id, plan, against: { fixtures } })

async function finished(run: Reply<Routes['createRun']>): Promise<Reply<Routes['loadRun']>['run']> {
  for (let wait = 0; wait < 200; wait++) {
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

test('a plan that nobody sent is 404, and a run of another tenant too', async () => {
  const unknown = { ...body([fixture('a', lookup)]), plan: { compiled_hash: 'b'.repeat(64) } }
  expect((await api.createRun({ body: unknown })).problem.code).toBe('PLAN_UNKNOWN')
  const { run_id } = (await api.createRun({ body: body([fixture('a', lookup)]) })).body.run
  const other = runtime.api((await runtime.createTenant()).key)
  expect((await other.loadRun({ params: { run_id } })).status).toBe(404)
})

proves(
  ['endpoint.runs.budget', 'limit.runs-budget'],
  'the budget of 30 days is kept to the last run, over two instances',
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
