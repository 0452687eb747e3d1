import { expect } from 'vitest'
import { learnCaptures } from '../../../packages/server/src/captures/learn-captures.js'
import type { Tx } from '../../../packages/server/src/postgres/sql.js'
import { countActiveKeys, listKeys } from '../../../packages/server/src/store/accounts/api-keys.js'
import { deleteOldAuditEntries } from '../../../packages/server/src/store/audit.js'
import { deleteForgotten, listLearnedCaptures } from '../../../packages/server/src/store/captures/forgetting.js'
import { loadOutcomes } from '../../../packages/server/src/store/captures/unlearned.js'
import { findPlanBefore, findPlansOf } from '../../../packages/server/src/store/governance/governance-plans.js'
import { claimRun, deleteOldRuns } from '../../../packages/server/src/store/runs/runs.js'
import { rowsRead } from '../../support/postgres/rows-read.js'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession, receiptFor } from '../../support/runtime/governed-session.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

/** A tenant keeps very much of everything: what is looked for is found without reading it all. */
const { runtime, api } = await withRuntime()
const { parts } = runtime.instances[0]
const { tenantId } = runtime
const MANY = 10_000

const readOf = (table: string, work: (tx: Tx) => Promise<unknown>): Promise<number> =>
  parts.database.transaction('jobs', (tx) => rowsRead(tx, table, () => work(tx)))

/** A session with one turn, captured and not learned, beside very many other proposals. */
async function sessionOfMany(agent: string): Promise<string> {
  const session = await openSession(api, { agent, capture_level: 'full' })
  const { decisions } = await session.decide([LOOKUP])
  await session.receipts(decisions.map((decision) => receiptFor(decision)))
  await parts.captures.flush()
  await runtime.sql`
    insert into session_events
    select tenant_id, session_id, seq + 100 + n, type, at + n * interval '1 second', body, prev_hash, hash,
      request_id || n, proposal_id || n, outcome, record
    from session_events, generate_series(1, ${MANY}::int) n
    where session_id = ${session.sessionId} and request_id is not null`
  await runtime.sql`analyze session_events`
  return session.sessionId
}

proves('limit.jobs.found', 'what receipts say of a capture, in a session of many proposals', async () => {
  const sessionId = await sessionOfMany('receipts')
  const [capture] = await runtime.sql<{ captureId: string; at: string }[]>`
    select capture_id, at::text from captures where conversation_id = ${sessionId}`
  const governed = { captureId: '', item: null, ...capture, at: capture?.at ?? null, governed: true }
  let outcomes: unknown
  const read = await readOf('session_events', async (tx) => {
    outcomes = await loadOutcomes(tx, tenantId, [{ ...governed, conversationId: sessionId }])
  })
  expect(outcomes).toEqual(new Map([[capture?.captureId, [['call_0', 'succeeded']]]]))
  expect(read).toBeLessThan(100)
})

proves('limit.jobs.found', 'the captures of one session, in an agent that has many', async () => {
  const sessionId = await sessionOfMany('erased')
  await runtime.sql`
    insert into captures
    select c.* from captures o cross join generate_series(1, ${MANY}::int) n
    cross join lateral json_populate_record(o, json_build_object('capture_id', o.capture_id || n,
      'conversation_id', 'other-' || n)) c
    where o.conversation_id = ${sessionId}`
  await runtime.sql`analyze captures`
  await runtime.sql`delete from unlearned_captures`
  const read = await readOf('captures', async (tx) => {
    const learned = await listLearnedCaptures(tx, { tenantId, sessionId }, 500)
    expect(learned).toHaveLength(1)
    await deleteForgotten(tx, tenantId, learned)
  })
  expect(read).toBeLessThan(100)
})

proves('limit.jobs.found', 'the next run, and runs past their time, where many wait', async () => {
  await runtime.sql`
    insert into runs (tenant_id, run_id, status, compiled_hash, against, body_hash, created_at)
    select ${tenantId}, 'r' || n, 'queued', 'h', '{}', 'h', now() - interval '1 day' + n * interval '1 s'
    from generate_series(1, ${MANY}::int) n`
  await runtime.sql`analyze runs`
  expect(await readOf('runs', async (tx) => expect(await claimRun(tx)).toMatchObject({ runId: 'r1' }))).toBeLessThan(
    100,
  )
  expect(await readOf('runs', async (tx) => expect(await deleteOldRuns(tx, 90, 50)).toBe(0))).toBeLessThan(100)
})

proves('limit.jobs.found', 'keys in force and the newest revoked ones', async () => {
  await runtime.sql`
    insert into api_keys (tenant_id, key_id, name, prefix, key_hash, created_at, revoked_at)
    select ${tenantId}, 'key-' || n, 'k', 'p', sha256(n::text::bytea), now() - n * interval '1 s', now()
    from generate_series(1, ${MANY}::int) n`
  await runtime.sql`analyze api_keys`
  const listed: (string | undefined)[] = []
  const list = async (tx: Tx) => {
    const keys = await listKeys(tx, tenantId)
    listed.push(keys[0]?.revokedAt?.toISOString(), keys[1]?.keyId, String(keys.length))
  }
  expect(await readOf('api_keys', list)).toBeLessThan(300)
  expect(listed).toEqual([undefined, 'key-1', '100'])
  expect(await readOf('api_keys', async (tx) => expect(await countActiveKeys(tx, tenantId)).toBe(1))).toBeLessThan(100)
})

proves('limit.jobs.found', 'the plan in force, the newest draft and the plan before of an agent', async () => {
  await runtime.sql`
    insert into governance_plans (tenant_id, plan_id, agent, environment, state, compiled_hash, origin, files, contracts,
      created_at, decided_at)
    select ${tenantId}, 'p' || n, 'planned', 'staging', (array['draft', 'rejected', 'superseded', 'draft'])[n % 4 + 1],
      'h', 'submitted', '[]', 0, now() - n * interval '1 s', now() - n * interval '1 s'
    from generate_series(1, ${MANY}::int) n`
  await runtime.sql`analyze governance_plans`
  const scope = { tenantId, agent: 'planned', environment: 'staging' } as const
  const decidedAt = new Date()
  const find = async (tx: Tx) => {
    expect(await findPlansOf(tx, scope)).toMatchObject({ approved: null, draft: { planId: 'p3' } })
    expect(await findPlanBefore(tx, { ...scope, decidedAt })).toMatchObject({ planId: 'p2' })
  }
  expect(await readOf('governance_plans', find)).toBeLessThan(100)
})

proves('limit.jobs.found', 'entries of the audit trail that are past their time', async () => {
  await runtime.sql`
    insert into audit_entries (tenant_id, entry_id, at, action, actor)
    select ${tenantId}, gen_random_uuid(), now(), 'x', 'operator' from generate_series(1, ${MANY}::int) n`
  await runtime.sql`analyze audit_entries`
  const remove = async (tx: Tx) => expect(await deleteOldAuditEntries(tx, 90, 50)).toBe(0)
  expect(await readOf('audit_entries', remove)).toBeLessThan(100)
})

proves('background.set-aside', 'also where a statement takes longer than it may', async () => {
  await sessionOfMany('slow')
  await runtime.sql`update unlearned_captures set due_at = now() - interval '1 hour' where agent = 'slow'`
  await runtime.sql`update unlearned_captures set due_at = now() + interval '1 hour' where agent <> 'slow'`
  const slow: typeof parts.database.transaction = async () => {
    await runtime.sql.begin(async (tx) => {
      await tx`set local statement_timeout = 20`
      await tx`select pg_sleep(5)`
    })
    throw new Error('the statement was not ended')
  }
  const learner = { ...parts, database: { ...parts.database, transaction: slow } }
  for (let attempt = 1; attempt <= 5; attempt++) await learnCaptures(learner)
  expect(await learnCaptures(learner)).toBe(0)
  const aside = await runtime.sql`select attempts, error from set_aside_captures where agent = 'slow'`
  expect(aside).toEqual([{ attempts: 3, error: 'reading or writing what they tell took longer than a statement may' }])
})
