import type { Queryable, Tx } from './database.js'

export interface Span {
  /** Which of the equal spans, counted from the start. */
  span: number
  agent: string
  /** '' for allowed calls. */
  reason: string
  calls: number
}

/** Proposals may become visible this much after the time they carry: no statement runs longer. */
const SETTLED_AFTER = '30 seconds'

/** Adds the decisions of proposals that have settled since the last time. Returns how many rows were counted. */
export async function countDecisions(tx: Tx): Promise<number> {
  const [range] = await tx<{ since: Date; until: Date }[]>`
    with before as (select until from decision_counts_until for update)
    update decision_counts_until set until = greatest(before.until, date_trunc('minute', clock_timestamp() - ${SETTLED_AFTER}::interval))
    from before
    returning before.until as since, decision_counts_until.until`
  if (range === undefined || range.since >= range.until) return 0
  const { count } = await tx`
    insert into decision_counts (tenant_id, minute, agent, reason, calls)
    select tenant_id, date_trunc('minute', proposed_at), agent, reason, count(*)
    from (${decisionsBetween(tx, { since: range.since, until: range.until })}) as decided
    group by 1, 2, 3, 4
    on conflict (tenant_id, minute, agent, reason) do update set calls = decision_counts.calls + excluded.calls`
  return count
}

/** Calls of one tenant from `since` on, by span of time, agent and reason. */
export async function sumDecisions(
  sql: Queryable,
  { tenantId, since, spanSeconds }: { tenantId: string; since: Date; spanSeconds: number },
): Promise<Span[]> {
  return sql<Span[]>`
    with counted as (select until from decision_counts_until)
    select floor(extract(epoch from minute - ${since}::timestamptz) / ${spanSeconds})::int as span, agent, reason, sum(calls)::int as calls
    from (
      select minute, agent, reason, calls from decision_counts
      where tenant_id = ${tenantId} and minute >= ${since}
      union all
      select date_trunc('minute', proposed_at), agent, reason, 1
      from counted, lateral (${decisionsBetween(sql, { tenantId, since, until: null })} and p.proposed_at >= counted.until) as decided
    ) as decisions
    where minute >= ${since}
    group by 1, 2, 3`
}

/** One row a judged call. `until` null: no end. */
const decisionsBetween = (
  sql: Queryable,
  { tenantId, since, until }: { tenantId?: string; since: Date; until: Date | null },
) => sql`
  select p.tenant_id, p.proposed_at, coalesce(s.agent, '') as agent, coalesce(d.decision ->> 'reason', '') as reason
  from proposals p
    join sessions s on s.tenant_id = p.tenant_id and s.session_id = p.session_id,
    lateral json_array_elements(p.decisions) as d (decision)
  where p.proposed_at >= ${since}
    ${until === null ? sql`` : sql`and p.proposed_at < ${until}`}
    ${tenantId === undefined ? sql`` : sql`and p.tenant_id = ${tenantId}`}`
