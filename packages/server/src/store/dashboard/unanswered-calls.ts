import type { Queryable, Tx } from '../../postgres/sql.js'

/**
 * Notes the allowed calls of a period that have no receipt yet. `offset 0`, here and below, has receipts looked up by their
 * key: PostgreSQL expects far more calls than there are, and would read all receipts that are stored.
 */
export async function noteUnansweredCalls(tx: Tx, range: { since: Date; until: Date }): Promise<void> {
  await tx`
    insert into unanswered_calls (tenant_id, at, session_id, seq, call_index, pending_call_id)
    select p.tenant_id, p.proposed_at, p.session_id, p.seq, (d ->> 'index')::int, d ->> 'pending_call_id'
    from proposals p cross join json_array_elements(p.decisions) d
    where p.proposed_at >= ${range.since} and p.proposed_at < ${range.until} and d ->> 'pending_call_id' is not null
      and not exists (
        select 1 from receipts r where r.tenant_id = p.tenant_id and r.session_id = p.session_id
          and r.pending_call_id = d ->> 'pending_call_id' offset 0
      )
    on conflict do nothing`
}

/** Drops the calls that got their receipt since. */
export async function dropAnsweredCalls(tx: Tx): Promise<void> {
  await tx`
    delete from unanswered_calls u where exists (
      select 1 from receipts r where r.tenant_id = u.tenant_id and r.session_id = u.session_id
        and r.pending_call_id = u.pending_call_id offset 0
    )`
}

/**
 * Calls that nobody is going to answer: no receipt, and their session is stopped, in doubt, or its holder let the lease
 * end. A tool that still runs under a lease is not one of them.
 */
export const unanswered = (sql: Queryable, tenantId: string) => sql`
  select u.* from unanswered_calls u
    join sessions s on s.tenant_id = u.tenant_id and s.session_id = u.session_id
    join session_heads h on h.tenant_id = u.tenant_id and h.session_id = u.session_id
  where u.tenant_id = ${tenantId} and (s.status <> 'ACTIVE' or s.ended_at is not null or h.lease_until <= statement_timestamp())
    and not exists (
      select 1 from receipts r where r.tenant_id = u.tenant_id and r.session_id = u.session_id
        and r.pending_call_id = u.pending_call_id offset 0
    )`

/** How many calls nobody answered, and since when the oldest of them waits. */
export async function countUnansweredCalls(
  sql: Queryable,
  tenantId: string,
): Promise<{ calls: number; oldest: Date | null }> {
  const [row] = await sql<{ calls: number; oldest: Date | null }[]>`
    select count(*)::int as calls, min(at) as oldest from (${unanswered(sql, tenantId)}) as waiting`
  return row ?? { calls: 0, oldest: null }
}

/** The same by those of the agents that have any; agent '' stands for none. */
export function countUnansweredByAgent(
  sql: Queryable,
  tenantId: string,
  agents: readonly string[],
): Promise<{ agent: string; calls: number }[]> {
  return sql<{ agent: string; calls: number }[]>`
    select coalesce(s.agent, '') as agent, count(*)::int as calls
    from (${unanswered(sql, tenantId)}) as waiting join sessions s using (tenant_id, session_id)
    where coalesce(s.agent, '') = any (${[...agents]}::text[]) group by 1`
}
