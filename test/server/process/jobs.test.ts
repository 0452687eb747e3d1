import type { RequestBody, Routes } from '@countersign/protocol'
import { beforeAll, describe, expect, test } from 'vitest'
import { createLog } from '../../../packages/server/src/base/log.js'
import { type Job, runJob, type SharedJob } from '../../../packages/server/src/process/jobs/job.js'
import { RETENTIONS } from '../../../packages/server/src/process/jobs/retentions.js'
import { startJobs } from '../../../packages/server/src/process/jobs/start-jobs.js'
import { countDecisions } from '../../../packages/server/src/store/dashboard/decision-counts.js'
import { rowsRead } from '../../support/postgres/rows-read.js'
import { openSession } from '../../support/runtime/governed-session.js'
import { planOf } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime({ instances: 2 })

const services = () => runtime.instances.map(({ parts }) => parts)

test('of twenty tries on two instances a job that is due runs once, and again when it is due again', async () => {
  const runs: string[] = []
  const job: Job = {
    name: 'once',
    everySeconds: 3_600,
    run: async () => {
      runs.push('ran')
      return false
    },
  }
  const tries = await Promise.all(Array.from({ length: 20 }, (_, index) => runJob(job, services()[index % 2]!)))
  expect([runs.length, tries.filter(Boolean).length]).toEqual([1, 1])
  await runtime.sql`update jobs set last_run_at = last_run_at - interval '2 hours' where name = 'once'`
  expect(await runJob(job, services()[1]!)).toBe(true)
  expect(runs).toHaveLength(2)
})

test('a job that fails waits for its time, and the others run all the same', async () => {
  const ran: string[] = []
  const failing: Job = {
    name: 'failing',
    everySeconds: 3_600,
    run: async () => {
      ran.push('failing')
      throw new Error('no')
    },
  }
  const next: Job = {
    name: 'next',
    everySeconds: 3_600,
    run: async () => {
      ran.push('next')
      return false
    },
  }
  let rounds = 0
  const each: SharedJob = {
    name: 'each-round',
    shared: true,
    run: async () => {
      rounds += 1
      return false
    },
  }
  const runner = startJobs(services()[0]!, [failing, next, each], 20)
  await expect.poll(() => rounds).toBeGreaterThan(5)
  expect(ran).toEqual(['failing', 'next'])
  await runtime.sql`update jobs set last_run_at = last_run_at - interval '2 hours' where name = 'failing'`
  await expect.poll(() => ran).toEqual(['failing', 'next', 'failing'])
  await runner.close()
  expect(await services()[0]!.metrics.registry.metrics()).toMatch(
    /countersign_job_runs_total\{job="failing",outcome="failed"\} [1-9]/,
  )
})

test('jobs that go on failing for one reason are logged once, and once when they work again', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', write: (line) => void lines.push(line) })
  let tries = 0
  const unlucky = (name: string): SharedJob => ({
    name,
    shared: true,
    run: async () => {
      tries += 1
      if (tries <= 8) throw new Error('the database is away')
      return false
    },
  })
  const runner = startJobs({ ...services()[0]!, log }, [unlucky('first'), unlucky('second')], 10)
  await expect.poll(() => tries).toBeGreaterThan(12)
  await runner.close()
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', work: 'first', error: { message: 'the database is away' } },
    { level: 'info', work: 'second', reason: 'the database is away', msg: 'this works again' },
  ])
})

test('buckets nobody used for a day are removed, those in use stay', async () => {
  await runtime.sql`
    insert into buckets values
      ('old', 'write', 1, clock_timestamp() - interval '2 days', true),
      ('new', 'write', 1, clock_timestamp(), true)`
  const idle = RETENTIONS.find(({ name }) => name === 'idle-buckets')!
  const { database } = services()[0]!
  await database.transaction('jobs', (tx) => idle.remove(tx, { olderThanDays: 90, auditDays: null, limit: 100 }))
  const left = await runtime.sql`select owner from buckets where owner in ('old', 'new')`
  expect(left.map(({ owner }) => owner)).toEqual(['new'])
})

const runOf = (run_id: string, plan: RequestBody<Routes['createRun']>['plan']) => ({
  run_id,
  plan,
  against: { fixtures: [{ name: 'none', turns: [{ calls: [{ name: 'x', arguments: {} }] }] }] },
})

test('plans go when nothing refers to them any more; those of sessions, drafts, approvals and waiting runs stay', async () => {
  const api = runtime.api()
  const { database } = services()[0]!
  const plan = (tool: string) => planOf([{ tool, side_effect: 'read' }])
  const upload = (tool: string) =>
    api.createRun({ body: runOf(`run-${tool}`, { compiled_session: plan(tool).compiled_session }) })
  for (const tool of ['unused', 'asked_again', 'claimed', 'drafted', 'waiting'])
    expect((await upload(tool)).status).toBe(201)
  await openSession(api, { plan: plan('uploaded') })
  const files = [{ file: 'drafted.yaml', text: 'tool: drafted\nside_effect: read\n' }]
  const draft = await api.submitPlan({ body: { agent: 'a', environment: 'staging', files } })
  expect(draft.body.plan.compiled_hash).toBe(plan('drafted').compiled_hash)
  await runtime.sql`update plans set used_at = clock_timestamp() - interval '91 days'`
  await runtime.sql`update runs set status = 'queued' where run_id = 'run-waiting'`
  await api.createRun({ body: runOf('again', { compiled_hash: plan('asked_again').compiled_hash }) })
  const { compiled_hash } = plan('claimed')
  const body = { session_id: 'claims', holder_id: 'h', compiled_hash }
  expect((await api.createSession({ body })).status).toBe(201)
  const unused = RETENTIONS.find(({ name }) => name === 'unused-plans')!
  const options = { olderThanDays: 90, auditDays: null, limit: 100 }
  expect(await database.transaction('jobs', (tx) => unused.remove(tx, options))).toEqual({ seen: 3, removed: 1 })
  const left = await runtime.sql<{ tool: string }[]>`
    select compiled_session -> 'contracts' -> 0 ->> 'tool' as tool from plans order by 1`
  expect(left.map(({ tool }) => tool)).toEqual(['asked_again', 'claimed', 'drafted', 'uploaded', 'waiting'])
  const gone = await api.createRun({ body: runOf('gone', { compiled_hash: plan('unused').compiled_hash }) })
  expect([gone.status, gone.problem.code]).toEqual([404, 'PLAN_UNKNOWN'])
  expect((await upload('unused')).status).toBe(201)
})

const remove = (name: string, olderThanDays: number, auditDays: number | null = null) => {
  const retention = RETENTIONS.find((row) => row.name === name)!
  const options = { olderThanDays, auditDays, limit: 100 }
  return services()[0]!.database.transaction('jobs', (tx) => retention.remove(tx, options))
}

test('runs go when they are past their retention; those that wait and those that count against the budget stay', async () => {
  const api = runtime.api()
  const { compiled_session } = planOf([{ tool: 'x', side_effect: 'read' }])
  const left = async () => {
    const rows = await runtime.sql<{ runId: string }[]>`select run_id from runs where run_id like 'stored-%' order by 1`
    return rows.map(({ runId }) => runId)
  }
  for (const id of ['stored-done', 'stored-failed', 'stored-new', 'stored-waiting'])
    await api.createRun({ body: runOf(id, { compiled_session }) })
  const age = (days: number) => runtime.sql`
    update runs set created_at = created_at - make_interval(days => ${days}) where run_id like 'stored-%'
      and run_id <> 'stored-new'`
  await runtime.sql`update runs set status = 'queued' where run_id = 'stored-waiting'`
  await runtime.sql`update runs set status = 'failed' where run_id = 'stored-failed'`
  await age(29)
  expect(await remove('runs', 1)).toBe(0)
  await age(3)
  expect(await remove('runs', 40)).toBe(0)
  expect(await remove('runs', 31)).toBe(2)
  expect(await left()).toEqual(['stored-new', 'stored-waiting'])
})

test('the audit trail is kept, unless a setting says for how many days', async () => {
  const api = runtime.api()
  for (const session_id of ['audited-old', 'audited-new']) {
    await openSession(api, { session_id })
    await api.killSession({ params: { session_id }, body: {} })
  }
  await runtime.sql`update audit_entries set at = at - interval '400 days' where subject = 'audited-old'`
  const left = () => runtime.sql`select subject from audit_entries where subject like 'audited-%' order by 1`
  expect([await remove('audit', 90), (await left()).length]).toEqual([0, 2])
  expect([await remove('audit', 90, 401), (await left()).length]).toEqual([0, 2])
  expect(await remove('audit', 90, 365)).toBe(1)
  expect(await left()).toEqual([{ subject: 'audited-new' }])
})

test('after a long pause every session is counted once', async () => {
  const { database } = services()[0]!
  await runtime.sql`
    insert into sessions (tenant_id, session_id, status, compiled_hash, plan_source, unmatched_policy, capture_level,
      agent, hash_salt, body_hash, created_at)
    select ${runtime.tenantId}, 'paused-' || n, 'ACTIVE', 'h', 'client', 'block', 'metadata', 'paused', 's', 'h',
      date_trunc('hour', now()) - n * interval '1 hour'
    from generate_series(1, 60) n`
  await runtime.sql`delete from session_counts`
  await runtime.sql`update decision_counts_until set until = '2000-01-01'`
  await database.transaction('jobs', countDecisions)
  const rows = await runtime.sql`select sessions from session_counts where agent = 'paused' order by hour`
  expect(rows.map(({ sessions }) => sessions)).toEqual(Array(60).fill(1))
})

/** How a row of each is written that came at the time `at`: its table, columns and values. */
const AGED_ROWS: Record<string, [table: string, columns: string, values: string]> = {
  'refresh-tokens': [
    'refresh_tokens',
    'tenant_id, refresh_id, user_id, token_hash, created_at, expires_at',
    "tenant, id, 'aged', sha256(id::bytea), at, at",
  ],
  'prepared-requests': [
    'superseded_requests',
    'tenant_id, session_id, prepared_request_id, expires_at, request',
    "tenant, 'aged', id, at, '{}'",
  ],
  'late-receipts': [
    'late_receipts',
    `tenant_id, session_id, pending_call_id, number, seq, fence, body_hash, outcome, evidence_level, argument_hash,
      recorded_at`,
    "tenant, 'aged', id, 1, 1, 1, 'h', 'failed', 'executed', 'h', at",
  ],
  'unanswered-calls': [
    'unanswered_calls',
    'tenant_id, at, session_id, seq, call_index, pending_call_id',
    "tenant, at, id, 1, 0, 'p'",
  ],
  'findable-ids': [
    'findable_ids',
    'tenant_id, agent, environment, id, session_id, at',
    "tenant, 'aged', 'production', id, 'aged', at",
  ],
  'used-tokens': [
    'used_tokens',
    'tenant_id, issuer, jti_hash, session_id, expires_at',
    "tenant, 'aged', id, 'aged', at",
  ],
  notices: [
    'deliveries',
    'tenant_id, question_id, kind, channel, recipient, created_at',
    "tenant, 'aged', 'asked', 'mail', id, at",
  ],
  content: ['content', 'tenant_id, session_id, kind, ref, body, created_at', "tenant, 'aged', 'reason', id, '{}', at"],
  captures: [
    'captures',
    'tenant_id, capture_id, agent, conversation_id, at, received_at, capture_level, tool_names, item',
    "tenant, id, 'aged', 'c', at, at, 'metadata', '{}', '{}'",
  ],
  mail: [
    'mail_queue',
    'tenant_id, mail_id, user_id, kind, created_at, next_attempt_at, sent_at',
    "tenant, id, 'aged', 'verify', at, at, at",
  ],
  'mail-tokens': [
    'mail_tokens',
    'tenant_id, token_id, user_id, kind, token_hash, created_at, expires_at, used_at',
    "tenant, id, 'aged', 'verify', sha256(id::bytea), at, at, at",
  ],
}

describe.each(Object.entries(AGED_ROWS))('retention of %s', (name, [table, columns, values]) => {
  const insert = (age: string, count: number) =>
    runtime.sql.unsafe(
      `insert into ${table} (${columns}) select ${values} from (
        select $1::text as tenant, md5(random()::text) as id, now() - $2::text::interval as at from generate_series(1, $3::int)
      ) aged`,
      [runtime.tenantId, age, count],
    )
  beforeAll(async () => {
    await runtime.sql`
      insert into users (tenant_id, user_id, email, email_key, password_hash)
      values (${runtime.tenantId}, 'aged', 'aged', 'aged', '') on conflict do nothing`
  })

  test('removes as many rows at once as it is told, and reads none of those that stay', async () => {
    await insert('200 days', 105)
    expect([await remove(name, 90), await remove(name, 90), await remove(name, 90)]).toEqual([100, 5, 0])
    // The new ones take the room of the old.
    await runtime.sql.unsafe(`vacuum ${table}`)
    await insert('0 days', 300)
    const retention = RETENTIONS.find((row) => row.name === name)!
    const options = { olderThanDays: 90, auditDays: null, limit: 100 }
    const read = await services()[0]!.database.transaction('jobs', (tx) =>
      rowsRead(tx, table, async () => expect(await retention.remove(tx, options)).toBe(0)),
    )
    expect(read).toBe(0)
  })
})
