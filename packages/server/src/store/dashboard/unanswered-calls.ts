import type { Fragment, Queryable, Tx } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'
import { daysAgo } from '../days-ago.js'
import { findRows } from '../delete-some.js'

/**
 * Notes the allowed calls of a period that have no receipt yet. `offset 0`, here and below, has receipts looked up by their
 * key: PostgreSQL expects far more calls than there are, and would read all receipts that are stored.
 */
export async function noteUnansweredCalls(tx: Tx, range: { since: Date; until: Date }): Promise<void> {
  await tx`
    ${across(tx, 'counts')} insert into unanswered_calls (tenant_id, at, session_id, seq, call_index, pending_call_id)
    select p.tenant_id, p.proposed_at, p.session_id, p.seq, (d ->> 'index')::int, d ->> 'pending_call_id'
    from proposals p cross join json_array_elements(p.decisions) d
    where p.proposed_at >= ${range.since} and p.proposed_at < ${range.until} and d ->> 'pending_call_id' is not null
      and not exists (
        select 1 from receipts r where r.tenant_id = p.tenant_id and r.session_id = p.session_id
          and r.pending_call_id = d ->> 'pending_call_id' offset 0
      )
    on conflict do nothing`
}

/**
 * Drops the calls that got their receipt in a period: of each session the last steps before the first event of the period,
 * since no other step can be open. One that is missed stays until its retention ends; readers look for receipts themselves.
 */
export async function dropAnsweredCalls(tx: Tx, range: { since: Date; until: Date }): Promise<void> {
  const moved = await tx<{ tenantId: string; sessions: string }[]>`
    ${across(tx, 'decided lately')} select tenant_id, json_object_agg(session_id, seq)::text as sessions from (
      select tenant_id, session_id, min(seq) as seq from session_events
      where at >= ${range.since} and at < ${range.until} group by 1, 2 offset 0
    ) as e group by tenant_id`
  for (const { tenantId, sessions } of moved) {
    await tx`
      delete from unanswered_calls where tenant_id = ${tenantId} and (at, session_id, seq, call_index) in (
        select u.at, u.session_id, u.seq, u.call_index
        from json_each_text(${sessions}::text::json) as e (session_id, seq)
        cross join lateral (
          select at, seq from session_events s
          where s.tenant_id = ${tenantId} and s.session_id = e.session_id and s.seq < e.seq::bigint
            and s.seq >= e.seq::bigint - ${LAST_EVENTS} and s.request_id is not null
          order by s.seq desc limit ${LAST_STEPS}
        ) as p
        cross join lateral (
          select * from unanswered_calls
          where tenant_id = ${tenantId} and at = p.at and session_id = e.session_id and seq = p.seq offset 0
        ) as u
        where exists (
          select 1 from receipts r where r.tenant_id = ${tenantId} and r.session_id = e.session_id
            and r.pending_call_id = u.pending_call_id offset 0
        ))`
  }
}

/** Responses without an allowed call may stand between a step and its receipts. */
const LAST_STEPS = 3
const LAST_EVENTS = 20

/** Removes what was noted of calls older than `days`, some of each tenant at once. Their sessions still say how they ended. */
export async function deleteOldUnansweredCalls(sql: Queryable, days: number, limit: number): Promise<number> {
  // Tenant by tenant, so that each is asked for its oldest alone: no index has the time without them.
  const old = sql`
    select u.* from tenants t cross join lateral (
      select * from unanswered_calls
      where tenant_id = t.tenant_id and at < ${daysAgo(sql, days)} order by at limit ${limit}
    ) as u limit ${limit}`
  let deleted = 0
  for (const isFound of await findRows(sql, 'unanswered_calls', old)) {
    const rows = await sql`delete from unanswered_calls where ${isFound} returning 1`
    deleted += rows.length
  }
  return deleted
}

/**
 * Calls that will not be answered, of those that were noted: no receipt, and their session is stopped, in doubt, or its
 * holder let the lease end. A tool that still runs under a lease is not one of them.
 */
export const unanswered = (sql: Queryable, tenantId: string, noted: Fragment) => sql`
  select u.*, s.agent from (${noted}) as u
    cross join lateral (
      select s.agent from sessions s join session_heads h using (tenant_id, session_id)
      where s.tenant_id = ${tenantId} and s.session_id = u.session_id
        and (s.status <> 'ACTIVE' or s.ended_at is not null or h.lease_until <= statement_timestamp()) offset 0
    ) as s
  where not exists (
    select 1 from receipts r where r.tenant_id = ${tenantId} and r.session_id = u.session_id
      and r.pending_call_id = u.pending_call_id offset 0
  )`

/** So many are looked at to count them, the oldest: a tenant may leave a million calls without a receipt. */
const MOST_COUNTED = 10_000

/** One more, which tells that there are others. */
const oldestNoted = (sql: Queryable, tenantId: string) => sql`
  noted as materialized (
    select * from unanswered_calls where tenant_id = ${tenantId} order by at limit ${MOST_COUNTED + 1}
  )`

const isMore = (sql: Queryable) => sql`(select count(*) > ${MOST_COUNTED} from noted) as more`

export interface UnansweredCalls {
  calls: number
  oldest: Date | null
  /** Not all were looked at. */
  more: boolean
}

/** How many calls are unanswered, and since when the oldest of them waits. */
export async function countUnansweredCalls(sql: Queryable, tenantId: string): Promise<UnansweredCalls> {
  const [row] = await sql<UnansweredCalls[]>`
    with ${oldestNoted(sql, tenantId)}
    select least(count(*), ${MOST_COUNTED})::int as calls, min(at) as oldest, ${isMore(sql)}
    from (${unanswered(sql, tenantId, sql`select * from noted`)}) as waiting`
  return row ?? { calls: 0, oldest: null, more: false }
}

/** The same by agent. */
export function countUnansweredByAgent(
  sql: Queryable,
  tenantId: string,
  agents: readonly string[],
): Promise<{ agent: string; calls: number; more: boolean }[]> {
  return sql<{ agent: string; calls: number; more: boolean }[]>`
    with ${oldestNoted(sql, tenantId)}
    select a.agent, least(count(waiting.at), ${MOST_COUNTED})::int as calls, ${isMore(sql)}
    from unnest(${[...new Set(agents)]}::text[]) as a (agent)
      left join (${unanswered(sql, tenantId, sql`select * from noted`)}) as waiting on waiting.agent = a.agent
    group by a.agent`
}
