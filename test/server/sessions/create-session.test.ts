import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { proves } from '../../support/proves.js'
import { openSession } from '../../support/runtime/governed-session.js'
import { HELP_DESK, planOf } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime({ instances: 2 })

const plan = planOf(HELP_DESK)
/** A plan that nobody has uploaded yet. */
const freshPlan = () => planOf([{ tool: `tool_${randomUUID().replaceAll('-', '')}`, side_effect: 'read' }])
const bodyOf = (given: object = {}) => ({
  session_id: `ses-${randomUUID()}`,
  holder_id: 'holder-1',
  compiled_hash: plan.compiled_hash,
  compiled_session: plan.compiled_session,
  ...given,
})

async function approve(agent: string, environment: string, approved = plan): Promise<void> {
  const { tenantId, sql } = runtime
  await sql`
    insert into plans (tenant_id, compiled_hash, compiled_session)
    values (${tenantId}, ${approved.compiled_hash}, ${JSON.stringify(approved.compiled_session)}) on conflict do nothing`
  await sql`
    insert into approved_plans (tenant_id, agent, environment, compiled_hash)
    values (${tenantId}, ${agent}, ${environment}, ${approved.compiled_hash})`
}

proves(
  ['endpoint.session-create', 'record.session.mode', 'record.session.status'],
  'a created session is authoritative and active, and stands at its first event',
  async () => {
    const { status, body } = await api.createSession({ body: bodyOf({ agent: 'support', environment: 'staging' }) })
    expect(status).toBe(201)
    expect(body.session).toMatchObject({
      mode: 'AUTHORITATIVE',
      status: 'ACTIVE',
      agent: 'support',
      environment: 'staging',
      state_version: 0,
      plan_source: 'client',
      unmatched_policy: 'block',
      capture_level: 'redacted',
    })
    expect(body).toMatchObject({
      fence: 1,
      plan_source: 'client',
      compiled_hash: plan.compiled_hash,
      ledger: { seq: 1 },
    })
    expect(Date.parse(body.lease_until)).toBeGreaterThan(Date.parse(body.session.created_at) + 60_000)
  },
)

proves(
  ['endpoint.session-create.labels', 'label.at-creation'],
  'labels given at creation are on the session from the start, each once',
  async () => {
    const { body } = await api.createSession({ body: bodyOf({ labels: ['vip', 'untrusted_input', 'vip'] }) })
    expect(body.session.labels).toEqual(['vip', 'untrusted_input'])
  },
)

test('the same create again gets the same answer, on any instance, and makes nothing new', async () => {
  const body = bodyOf({ principal: { id: 'ann' } })
  const first = await api.createSession({ body })
  const again = await runtime.api(runtime.key, runtime.instances[1]).createSession({ body })
  expect(again.status).toBe(201)
  expect(again.body).toEqual(first.body)
  const { compiled_session: _, ...byHash } = body
  expect((await api.createSession({ body: byHash })).body).toEqual(first.body)
})

test('of twenty equal creates at once one makes the session and all get its answer', async () => {
  const body = bodyOf()
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      runtime.api(runtime.key, runtime.instances[index % 2]).createSession({ body }),
    ),
  )
  const [first, ...others] = answers.map(({ status, body, problem }) => ({ status, body, problem }))
  expect(first?.status).toBe(201)
  for (const other of others) expect(other).toEqual(first)
  const [row] = await runtime.sql`select count(*) from session_events where session_id = ${body.session_id}`
  expect(row).toEqual({ count: 1 })
})

test('another body under the same id is 409 SESSION_EXISTS', async () => {
  const body = bodyOf()
  await api.createSession({ body })
  const { status, problem } = await api.createSession({ body: { ...body, unmatched_policy: 'allow' } })
  expect([status, problem.code]).toEqual([409, 'SESSION_EXISTS'])
})

test('another holder under the same id is 409 SESSION_HELD and learns until when', async () => {
  const body = bodyOf()
  const first = await api.createSession({ body })
  const { status, problem } = await api.createSession({ body: { ...body, holder_id: 'holder-2' } })
  expect([status, problem.code]).toEqual([409, 'SESSION_HELD'])
  expect(problem.lease_until).toBe(first.body.lease_until)
})

test('a hash that was never uploaded is 404 PLAN_UNKNOWN; uploaded once, the hash is enough', async () => {
  const { compiled_hash, compiled_session } = freshPlan()
  const byHash = () => api.createSession({ body: { ...bodyOf({ compiled_hash }), compiled_session: undefined } })
  expect((await byHash()).problem.code).toBe('PLAN_UNKNOWN')
  expect((await api.createSession({ body: bodyOf({ compiled_hash, compiled_session }) })).status).toBe(201)
  expect((await byHash()).status).toBe(201)
})

test('a plan that another tenant uploaded is unknown here', async () => {
  const { compiled_hash, compiled_session } = freshPlan()
  await api.createSession({ body: bodyOf({ compiled_hash, compiled_session }) })
  const other = await runtime.createTenant()
  const { compiled_session: _, ...body } = bodyOf({ compiled_hash })
  const answer = await runtime.api(other.key).createSession({ body })
  expect(answer.problem.code).toBe('PLAN_UNKNOWN')
})

test('a plan with one byte changed does not fit its hash', async () => {
  const changed = structuredClone(plan.compiled_session)
  changed.session.agent = 'someone_else'
  const { status, problem } = await api.createSession({ body: bodyOf({ compiled_session: changed }) })
  expect([status, problem.code]).toEqual([400, 'PLAN_HASH_MISMATCH'])
})

test('a plan that does not hold together is refused whole, with what is wrong', async () => {
  const broken = structuredClone(plan.compiled_session)
  broken.contracts[0] = { ...broken.contracts[0]!, argument_value_invariants: [{ path: '$.a', regex: '(?=x)' }] }
  const { status, problem } = await api.createSession({
    body: bodyOf({ compiled_session: broken, compiled_hash: undefined }),
  })
  expect([status, problem.code]).toEqual([400, 'PLAN_INVALID'])
  expect(JSON.stringify(problem.problems)).toContain('contract of ')
})

test('where a plan is approved it governs, and the client gets it', async () => {
  await approve('pinned', 'production')
  const { compiled_session: _s, compiled_hash: _h, ...body } = bodyOf({ agent: 'pinned', environment: 'production' })
  const answer = await api.createSession({ body })
  expect(answer.body).toMatchObject({ plan_source: 'approved', compiled_hash: plan.compiled_hash })
  expect(answer.body.compiled_session).toEqual(plan.compiled_session)
  expect((await api.createSession({ body })).body).toEqual(answer.body)
})

test('where a plan is approved another one is 409 PLAN_PINNED, uploaded or by hash', async () => {
  await approve('pinned', 'staging')
  const other = freshPlan()
  const scope = { agent: 'pinned', environment: 'staging' }
  for (const sent of [other, { compiled_hash: other.compiled_hash, compiled_session: undefined }]) {
    const { status, problem } = await api.createSession({ body: bodyOf({ ...scope, ...sent }) })
    expect([status, problem.code, problem.compiled_hash]).toEqual([409, 'PLAN_PINNED', plan.compiled_hash])
  }
})

test('a newer approval does not touch a live session', async () => {
  const first = freshPlan()
  await approve('moving', 'production', first)
  const session = await openSession(api, { agent: 'moving', environment: 'production', plan: first })
  await runtime.sql`delete from approved_plans where agent = 'moving'`
  await approve('moving', 'production', plan)
  expect((await session.load()).session.compiled_hash).toBe(first.compiled_hash)
})

test('a plan with a policy needs a principal; the principal is stored and never shown', async () => {
  const cedar = 'permit (principal, action, resource) when { principal.role == "agent" };'
  const policed = planOf([{ tool: 'lookup_order', side_effect: 'read', policy: { cedar } }])
  const body = bodyOf({ ...policed })
  expect((await api.createSession({ body })).problem.code).toBe('INVALID_REQUEST')
  const withPrincipal = bodyOf({ ...policed, principal: { id: 'ann-4711', role: 'agent' } })
  const created = await api.createSession({ body: withPrincipal })
  expect(created.status).toBe(201)
  expect(JSON.stringify(created.body)).not.toContain('ann-4711')
  expect(created.body.session.state.principal).toBeNull()
})

test('a principal above 8 KiB is 400', async () => {
  const { status, problem } = await api.createSession({ body: bodyOf({ principal: { note: 'x'.repeat(9_000) } }) })
  expect([status, problem.code]).toEqual([400, 'INVALID_REQUEST'])
})
