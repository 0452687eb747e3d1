import type { Queryable, Tx } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'
import { dropAnsweredCalls, noteUnansweredCalls } from './unanswered-calls.js'

export interface SpanCount {
  /** Which of the equal spans, counted from the start. */
  span: number
  /** '' for allowed calls. */
  reason: string
  calls: number
}

export interface AgentCount {
  agent: string
  reason: string
  calls: number
  /** Those whose tool has no contract in the plan of their session. */
  uncovered: number
}

/** Rows may become visible this much after the time they carry: no statement runs longer. */
const SETTLED_AFTER = '30 seconds'

const grains = (sql: Queryable) => sql`(values ('minute'), ('hour')) as grains (grain)`
const HOUR_SECONDS = 3_600

/** What one piece looks at: events, and bytes of what they say, which may be megabytes each. */
const PIECE_EVENTS = 5_000
const PIECE_BYTES = 16_000_000

/** Adds the next piece of the decisions and sessions that have settled since the last time. True when more is left. */
export async function countDecisions(tx: Tx): Promise<boolean> {
  const [settled] = await tx<Range[]>`
    select until as since, date_trunc('minute', clock_timestamp() - ${SETTLED_AFTER}::interval) as until
    from decision_counts_until for update`
  if (settled === undefined || settled.since >= settled.until) return false
  const until = await endOfPiece(tx, settled)
  await countPiece(tx, { since: settled.since, until: until ?? settled.until })
  await tx`update decision_counts_until set until = ${until ?? settled.until}`
  return until !== null
}

interface Range {
  readonly since: Date
  readonly until: Date
}

/** In whole milliseconds, like all times that are read here. Null: one piece has room for all. */
async function endOfPiece(tx: Tx, { since, until }: Range): Promise<Date | null> {
  const [end] = await tx<{ at: Date }[]>`
    ${across(tx, 'decided lately')} select greatest(date_trunc('milliseconds', at), ${since}::timestamptz + interval '1 millisecond') as at
    from (
      select at, row_number() over before as events, sum(bytes) over before as bytes
      from (
        select at, octet_length(record) as bytes from session_events
        where at >= ${since} and at < ${until} order by at limit ${PIECE_EVENTS + 1}
      ) as next
      window before as (order by at rows unbounded preceding)
    ) as placed
    where events > ${PIECE_EVENTS} or bytes > ${PIECE_BYTES}
    order by at limit 1`
  return end === undefined || end.at >= until ? null : end.at
}

async function countPiece(tx: Tx, range: Range): Promise<void> {
  // Both grains at once: proposals are large, and most of the time goes into reading their decisions.
  await tx`
    ${across(tx, 'counts')} insert into decision_counts (tenant_id, grain, at, agent, reason, calls, uncovered)
    select tenant_id, grain, date_trunc(grain, proposed_at), agent, reason, count(*), sum(uncovered)
    from (${decisionsBetween(tx, range)}) as decided cross join ${grains(tx)}
    group by 1, 2, 3, 4, 5
    on conflict (tenant_id, grain, at, agent, reason) do update
    set calls = decision_counts.calls + excluded.calls, uncovered = decision_counts.uncovered + excluded.uncovered`
  await tx`
    ${across(tx, 'counts')} insert into decision_counts (tenant_id, grain, at, agent, reason, calls)
    select tenant_id, grain, date_trunc(grain, proposed_at), agent, reason, sum(calls)
    from (${stopsBetween(tx, range)}) as stopped cross join ${grains(tx)}
    group by 1, 2, 3, 4, 5
    on conflict (tenant_id, grain, at, agent, reason) do update set calls = decision_counts.calls + excluded.calls`
  await tx`
    ${across(tx, 'counts')} insert into session_counts (tenant_id, hour, agent, sessions)
    select tenant_id, date_trunc('hour', created_at), agent, count(*) from sessions
    where created_at >= ${range.since} and created_at < ${range.until}
    group by 1, 2, 3
    on conflict (tenant_id, hour, agent) do update set sessions = session_counts.sessions + excluded.sessions`
  await noteUnansweredCalls(tx, range)
  await dropAnsweredCalls(tx, range)
}

interface DecisionSums {
  /** Of all agents. */
  readonly bySpan: readonly SpanCount[]
  readonly byAgent: readonly AgentCount[]
}

/**
 * Calls of one tenant from `since` on, by span of time and by agent, each with the reason. `since` is the start of a minute,
 * and with spans of hours that of an hour; the first span may begin before it. A tenant may have a new agent with each session, so only those that are asked for come back.
 */
export async function sumDecisions(
  sql: Queryable,
  {
    tenantId,
    since,
    spansFrom = since,
    spanSeconds,
    agents,
  }: { tenantId: string; since: Date; spansFrom?: Date; spanSeconds: number; agents: readonly string[] },
): Promise<DecisionSums> {
  const grain = spanSeconds % HOUR_SECONDS === 0 ? 'hour' : 'minute'
  // Asked first: the planner then knows how little of the proposals is left to count.
  const until = await countedUntil(sql)
  const rows = await sql<({ span: number | null; agent: string | null } & Omit<AgentCount, 'agent'>)[]>`
    select span, agent, reason, sum(calls)::int as calls, sum(uncovered)::int as uncovered
    from (
      select floor(extract(epoch from at - ${spansFrom}::timestamptz) / ${spanSeconds})::int as span, agent, reason, calls, uncovered
      from (
        select at, agent, reason, calls, uncovered from decision_counts
        where tenant_id = ${tenantId} and grain = ${grain} and at >= ${since}
        union all
        select proposed_at, agent, reason, 1, uncovered
        from (${decisionsBetween(sql, { tenantId, since: since > until ? since : until, until: null })}) as decided
        union all
        select proposed_at, agent, reason, calls, 0
        from (${stopsBetween(sql, { tenantId, since: until, until: null })}) as stopped where proposed_at >= ${since}
      ) as decisions
    ) as placed
    group by grouping sets ((span, reason), (agent, reason))
    having grouping(agent) = 1 or agent = any (${[...agents]}::text[])`
  return {
    bySpan: rows.flatMap(({ span, reason, calls }) => (span === null ? [] : [{ span, reason, calls }])),
    byAgent: rows.flatMap(({ agent, reason, calls, uncovered }) =>
      agent === null ? [] : [{ agent, reason, calls, uncovered }],
    ),
  }
}

/** The time up to which everything is counted. */
export async function countedUntil(sql: Queryable): Promise<Date> {
  const [row] = await sql<{ until: Date }[]>`select until from decision_counts_until`
  if (row === undefined) throw new Error('nothing says how far decisions are counted')
  return row.until
}

export interface AgentSessions {
  agent: string
  sessions: number
  /** Of all agents, also of those beyond the end of the list, and how many agents these are. */
  allSessions: number
  allAgents: number
}

/** How many sessions each agent began since: the busiest agents. */
export async function sumSessions(
  sql: Queryable,
  { tenantId, since }: { tenantId: string; since: Date },
): Promise<AgentSessions[]> {
  const until = await countedUntil(sql)
  const hourMs = HOUR_SECONDS * 1_000
  const firstHour = new Date(Math.ceil(since.getTime() / hourMs) * hourMs)
  const lastHour = new Date(Math.max(firstHour.getTime(), Math.floor(until.getTime() / hourMs) * hourMs))
  // Whole hours that are counted, and the sessions themselves before and after those.
  return sql<AgentSessions[]>`
    with begun as (
      select agent, sessions from session_counts
      where tenant_id = ${tenantId} and hour >= ${firstHour} and hour < ${lastHour}
      union all
      select agent, 1 from sessions
      where tenant_id = ${tenantId} and created_at >= ${since} and created_at < ${firstHour}
      union all
      select agent, 1 from sessions where tenant_id = ${tenantId} and created_at >= ${lastHour}
    )
    select agent, sum(sessions)::int as sessions, (sum(sum(sessions)) over ())::int as all_sessions,
      (count(*) over ())::int as all_agents
    from begun group by agent order by sessions desc limit 200`
}

/** The same by agent, without the spans: calls that were captured and that no session of the service decided. */
export async function sumCapturedCalls(
  sql: Queryable,
  { tenantId, since }: { tenantId: string; since: Date },
): Promise<{ agent: string; calls: number; covered: number }[]> {
  return sql<{ agent: string; calls: number; covered: number }[]>`
    select agent, sum(calls)::int as calls, sum(covered)::int as covered from captured_calls
    where tenant_id = ${tenantId} and hour >= date_trunc('hour', ${since}::timestamptz) group by agent`
}

/** One row a judged call. `until` null: no end. */
const decisionsBetween = (
  sql: Queryable,
  { tenantId, since, until }: { tenantId?: string; since: Date; until: Date | null },
) => sql`
  select p.tenant_id, p.proposed_at, s.agent, coalesce(d.decision ->> 'reason', '') as reason, (
      select count(*) from json_array_elements_text(p.uncovered) as u (index) where u.index = d.decision ->> 'index'
    ) as uncovered
  from proposals p
    -- Looked up for each proposal: PostgreSQL, which expects far more of them, would read all sessions.
    cross join lateral (
      select agent from sessions
      where tenant_id = ${tenantId === undefined ? sql`p.tenant_id` : sql`${tenantId}`} and session_id = p.session_id offset 0
    ) as s
    cross join lateral json_array_elements(p.decisions) as d (decision)
  where p.proposed_at >= ${since}
    -- A call that waits for people is neither allowed nor blocked.
    and (d.decision ->> 'reason' is not null or d.decision ->> 'decision' = 'allow')
    ${until === null ? sql`` : sql`and p.proposed_at < ${until}`}
    ${tenantId === undefined ? sql`` : sql`and p.tenant_id = ${tenantId}`}`

/** Calls that were stopped after their proposal was counted as allowed: one allowed less, one blocked more. */
const stopsBetween = (
  sql: Queryable,
  { tenantId, since, until }: { tenantId?: string; since: Date; until: Date | null },
) => sql`
  select c.tenant_id, c.proposed_at, s.agent, effect.reason, effect.calls
  from stopped_calls c
    join sessions s on s.tenant_id = ${tenantId === undefined ? sql`c.tenant_id` : sql`${tenantId}`} and s.session_id = c.session_id
    cross join lateral (values ('', -1), (c.reason, 1)) as effect (reason, calls)
  where c.at >= ${since}
    ${until === null ? sql`` : sql`and c.at < ${until}`}
    ${tenantId === undefined ? sql`` : sql`and c.tenant_id = ${tenantId}`}`
