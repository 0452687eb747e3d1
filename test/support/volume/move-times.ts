import { chainEvent, chainWorkflowEvent, foldEvents, preparePlan, saltedHash } from '@countersign/engine'
import type { CompiledSession, LedgerHead, SessionEvent, WorkflowEvent } from '@countersign/protocol'
import type { Sql, Tx } from '../../../packages/server/src/postgres/sql.js'

export interface Moves {
  readonly tenantId: string
  /** By id: how many milliseconds it is moved back. */
  readonly sessions: ReadonlyMap<string, number>
  readonly workflows: ReadonlyMap<string, number>
  /** Plans, with their runs and what was done to them. */
  readonly subjects: ReadonlyMap<string, number>
}

/**
 * Moves what happened now back in time, as if it had happened then: every time of it, and the chain of its ledger
 * anew, so that it still verifies. For a tenant that was made up from the start.
 */
export async function moveTimes(sql: Sql, { tenantId, sessions, workflows, subjects }: Moves): Promise<void> {
  await sql.begin(async (given) => {
    const tx = given as unknown as Tx
    // The counting job waits, and nothing is counted twice.
    await tx`select 1 from decision_counts_until for update`
    for (const [sessionId, ms] of sessions) await moveSession(tx, { tenantId, sessionId, ms })
    for (const [workflowId, ms] of workflows) await moveWorkflow(tx, { tenantId, workflowId, ms })
    for (const [subject, ms] of subjects) await movePlan(tx, { tenantId, planId: subject, ms })
    await recount(tx, tenantId)
    // What was signed was another past.
    await tx`delete from signed_heads where tenant_id = ${tenantId}`
  })
}

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z/g

/** Every time in a text of JSON, moved. Times in content of years ago stay: they are nobody's clock. */
const moved = (text: string, ms: number): string =>
  text.replaceAll(TIME, (time) => {
    const at = Date.parse(time)
    return Math.abs(Date.now() - at) > RECENT_MS ? time : new Date(at - ms).toISOString()
  })
const RECENT_MS = 24 * 3_600_000

interface StoredEvent {
  seq: number
  type: string
  at: Date
  body: string
  record: string | null
}

async function moveSession(
  tx: Tx,
  { tenantId, sessionId, ms }: { tenantId: string; sessionId: string; ms: number },
): Promise<void> {
  const where = tx`tenant_id = ${tenantId} and session_id = ${sessionId}`
  const back = tx`make_interval(secs => ${ms / 1_000})`
  const events = await tx<
    (StoredEvent & { hash: string })[]
  >`select seq, type, at, body, record, hash from session_events where ${where} order by seq`
  const [fixed] = await tx<{ hashSalt: string }[]>`select hash_salt from sessions where ${where}`
  const hashes = new Map<string, string>()
  let head: LedgerHead | null = null
  const chained = events.map((event) => {
    const at = new Date(event.at.getTime() - ms).toISOString()
    const body = JSON.parse(moved(event.body, ms))
    const record = event.record === null ? null : JSON.parse(moved(event.record, ms))
    if (record !== null) {
      const { digest: _, ...request } = record.request
      record.request.digest = saltedHash(fixed?.hashSalt ?? '', request)
      body.prepared_digest = record.request.digest
    }
    const link = chainEvent(head, sessionId, { type: event.type, at, body } as SessionEvent)
    hashes.set(event.hash, link.hash)
    head = { seq: link.seq, hash: link.hash }
    return { ...link, body: JSON.stringify(body), record: record === null ? null : JSON.stringify(record) }
  })
  await tx`
    update session_events e set at = n.at, body = n.body, record = n.record, prev_hash = n.prev_hash, hash = n.hash
    from json_to_recordset(${JSON.stringify(chained)}::text::json)
      as n (seq bigint, at timestamptz, body text, record text, prev_hash text, hash text)
    where e.tenant_id = ${tenantId} and e.session_id = ${sessionId} and e.seq = n.seq`
  const [plan] = await tx<{ compiled: CompiledSession }[]>`
    select p.compiled_session as compiled from sessions s join plans p using (tenant_id, compiled_hash)
    where s.tenant_id = ${tenantId} and s.session_id = ${sessionId}`
  const prepared = plan === undefined ? null : preparePlan(plan.compiled)
  if (prepared?.ok !== true || head === null) throw new Error(`the session ${sessionId} has no plan`)
  const state = foldEvents(
    chained.map(({ type, at, body }) => ({ type, at, body: JSON.parse(body) }) as SessionEvent),
    prepared.plan,
  )
  const [stored] = await tx<{ facts: string; prepared: string | null; narrowing: string | null }[]>`
    select facts, prepared, narrowing from session_heads where ${where}`
  if (stored === undefined) throw new Error(`the session ${sessionId} has no head`)
  const renewed = (text: string | null) =>
    text === null ? null : [...hashes].reduce((now, [was, is]) => now.replaceAll(was, is), moved(text, ms))
  const { recent, ...rest } = state
  await tx`
    update session_heads set revision = ${(head as LedgerHead).hash}, lease_until = lease_until - ${back},
      facts = ${renewed(stored.facts)}, prepared = ${renewed(stored.prepared)}, narrowing = ${renewed(stored.narrowing)},
      state = ${JSON.stringify(rest)}, recent = ${JSON.stringify(recent)}
    where ${where}`
  await tx`update sessions set created_at = created_at - ${back}, ended_at = ended_at - ${back} where ${where}`
  await tx`update session_facets set created_at = created_at - ${back} where ${where}`
  await tx`update blocked_proposals set at = at - ${back} where ${where}`
  await tx`update stopped_calls set at = at - ${back}, proposed_at = proposed_at - ${back} where ${where}`
  await tx`update content set created_at = created_at - ${back} where ${where}`
  await tx`update captures set at = at - ${back}, received_at = received_at - ${back} where tenant_id = ${tenantId} and conversation_id = ${sessionId}`
  await tx`update audit_entries set at = at - ${back} where tenant_id = ${tenantId} and subject = ${sessionId}`
  const receipts = await tx<
    { pendingCallId: string; record: string }[]
  >`select pending_call_id, record from receipts where ${where}`
  for (const { pendingCallId, record } of receipts) {
    await tx`update receipts set record = ${moved(record, ms)} where ${where} and pending_call_id = ${pendingCallId}`
  }
}

async function moveWorkflow(
  tx: Tx,
  { tenantId, workflowId, ms }: { tenantId: string; workflowId: string; ms: number },
): Promise<void> {
  const where = tx`tenant_id = ${tenantId} and workflow_id = ${workflowId}`
  const back = tx`make_interval(secs => ${ms / 1_000})`
  const events = await tx<{ seq: number; type: string; at: Date; body: object }[]>`
    select seq, type, at, body from workflow_events where ${where} order by seq`
  let head: LedgerHead | null = null
  for (const event of events) {
    const at = new Date(event.at.getTime() - ms).toISOString()
    const body = JSON.parse(moved(JSON.stringify(event.body), ms))
    const link = chainWorkflowEvent(head, workflowId, { type: event.type, at, body } as WorkflowEvent)
    head = { seq: link.seq, hash: link.hash }
    await tx`
      update workflow_events set at = ${at}, body = ${JSON.stringify(body)}::text::json, prev_hash = ${link.prev_hash}, hash = ${link.hash}
      where ${where} and seq = ${event.seq}`
  }
  if (head === null) throw new Error(`the workflow ${workflowId} has no events`)
  await tx`update workflows set created_at = created_at - ${back}, ledger_hash = ${(head as LedgerHead).hash} where ${where}`
  await tx`
    update handoffs set offered_at = offered_at - ${back}, settled_at = settled_at - ${back},
      expires_at = case when state = 'offered' then expires_at else expires_at - ${back} end
    where ${where}`
  await tx`update resource_holds set held_at = held_at - ${back} where ${where}`
  await tx`update audit_entries set at = at - ${back} where tenant_id = ${tenantId} and subject = ${workflowId}`
}

async function movePlan(
  tx: Tx,
  { tenantId, planId, ms }: { tenantId: string; planId: string; ms: number },
): Promise<void> {
  const back = tx`make_interval(secs => ${ms / 1_000})`
  await tx`
    update runs r set created_at = r.created_at - ${back}, finished_at = r.finished_at - ${back}
    from governance_plans g
    where g.tenant_id = ${tenantId} and g.plan_id = ${planId} and r.tenant_id = g.tenant_id
      and r.compiled_hash = g.compiled_hash and r.created_at >= g.created_at`
  await tx`
    update approved_plans a set approved_at = a.approved_at - ${back} from governance_plans g
    where g.tenant_id = ${tenantId} and g.plan_id = ${planId} and g.state = 'approved' and a.tenant_id = g.tenant_id
      and a.agent = g.agent and a.environment = g.environment`
  await tx`
    update governance_plans set created_at = created_at - ${back}, decided_at = decided_at - ${back}
    where tenant_id = ${tenantId} and plan_id = ${planId}`
  await tx`update audit_entries set at = at - ${back} where tenant_id = ${tenantId} and subject = ${planId}`
}

/** As the job counts, for this tenant and from the beginning. */
async function recount(tx: Tx, tenantId: string): Promise<void> {
  await tx`delete from decision_counts where tenant_id = ${tenantId}`
  await tx`delete from session_counts where tenant_id = ${tenantId}`
  await tx`delete from unanswered_calls where tenant_id = ${tenantId}`
  const until = tx`(select until from decision_counts_until)`
  for (const grain of ['minute', 'hour']) {
    await tx`
      insert into decision_counts (tenant_id, grain, at, agent, reason, calls, uncovered)
      select p.tenant_id, ${grain}, date_trunc(${grain}, p.proposed_at), s.agent, coalesce(d ->> 'reason', ''), count(*),
        count(*) filter (where d ->> 'index' in (select json_array_elements_text(p.uncovered)))
      from proposals p join sessions s using (tenant_id, session_id), json_array_elements(p.decisions) d
      where p.tenant_id = ${tenantId} and p.proposed_at < ${until}
      group by 1, 2, 3, 4, 5`
  }
  await tx`
    insert into session_counts (tenant_id, hour, agent, sessions)
    select tenant_id, date_trunc('hour', created_at), agent, count(*) from sessions
    where tenant_id = ${tenantId} and created_at < ${until} group by 1, 2, 3`
  await tx`
    insert into unanswered_calls (tenant_id, at, session_id, seq, call_index, pending_call_id)
    select p.tenant_id, p.proposed_at, p.session_id, p.seq, (d ->> 'index')::int, d ->> 'pending_call_id'
    from proposals p, json_array_elements(p.decisions) d
    where p.tenant_id = ${tenantId} and p.proposed_at < ${until} and d ->> 'pending_call_id' is not null
      and not exists (select 1 from receipts r where r.tenant_id = p.tenant_id and r.session_id = p.session_id
        and r.pending_call_id = d ->> 'pending_call_id')`
}
