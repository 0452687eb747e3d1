import type { Environment, SessionStatus } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'
import { countedUntil } from './decision-counts.js'

export interface KnownAgent {
  agent: string
  /** Learned calls that no rule judged, and those of them whose tool has no contract in an approved plan. */
  observed: number
  ungoverned: number
}

/** Every agent that was learned from or given a plan. */
export async function listKnownAgents(sql: Queryable, tenantId: string): Promise<KnownAgent[]> {
  return sql<KnownAgent[]>`
    with approved_tools as (
      select distinct a.agent, c ->> 'tool' as tool_name
      from approved_plans a join plans p on p.tenant_id = ${tenantId} and p.compiled_hash = a.compiled_hash,
        json_array_elements(p.compiled_session -> 'contracts') c
      where a.tenant_id = ${tenantId}
    ), learned as (
      select l.agent, max(l.updated_at) as learned_at, sum(greatest(l.samples - l.passed, 0)) as observed,
        sum(greatest(l.samples - l.passed, 0)) filter (where t.tool_name is null) as ungoverned
      from learned_tools l left join approved_tools t on t.agent = l.agent and t.tool_name = l.tool_name
      where l.tenant_id = ${tenantId}
      group by l.agent
    )
    select agent, coalesce(l.observed, 0)::int as observed, coalesce(l.ungoverned, 0)::int as ungoverned
    from learned l full join (select distinct agent from governance_plans where tenant_id = ${tenantId}) as planned using (agent)
    order by l.learned_at desc nulls last, agent limit 200`
}

/** An agent of that name began a session, was learned from or was given a plan. */
export async function isKnownAgent(sql: Queryable, tenantId: string, agent: string): Promise<boolean> {
  const [row] = await sql<{ known: boolean }[]>`
    select coalesce((
        select agent = ${agent} from sessions where tenant_id = ${tenantId} and agent >= ${agent} order by agent limit 1
      ), false)
      or exists (select from governance_plans where tenant_id = ${tenantId} and agent = ${agent})
      or exists (select from learned_tools where tenant_id = ${tenantId} and agent = ${agent}) as known`
  return row?.known === true
}

/** Sessions of an agent whose last event is looked at, the newest. */
const NEWEST = 10

/**
 * When each of the agents was last heard of: the last event of its newest sessions, or its newest capture. What people do to
 * a session, or a job, is no sign of its agent.
 */
export async function listLastSeen(
  sql: Queryable,
  tenantId: string,
  agents: readonly string[],
): Promise<{ agent: string; at: Date | null }[]> {
  return sql<{ agent: string; at: Date | null }[]>`
    select a.agent, greatest(
      (
        select max(last.at) from (
          select session_id from sessions where tenant_id = ${tenantId} and agent = a.agent
          order by created_at desc, session_id desc limit ${NEWEST}
        ) as s cross join lateral (
          select at from session_events e where e.tenant_id = ${tenantId} and e.session_id = s.session_id
            and e.type not in ('killed', 'label', 'handoff_expired')
          order by seq desc limit 1
        ) as last
      ), (
        -- By the client's clock, which may be ahead.
        select least(at, statement_timestamp()) from captures where tenant_id = ${tenantId} and agent = a.agent
        order by at desc, capture_id desc limit 1
      )
    ) as at
    from unnest(${[...agents]}::text[]) as a (agent)`
}

/** How many agents began a session since, were learned from, or were given a plan. `since` is the start of an hour. */
export async function countAgents(sql: Queryable, tenantId: string, since: Date): Promise<number> {
  const until = await countedUntil(sql)
  const [row] = await sql<{ agents: number }[]>`
    select count(*)::int as agents from (
      select agent from session_counts where tenant_id = ${tenantId} and hour >= ${since}
      union select agent from sessions
        where tenant_id = ${tenantId} and created_at >= ${since > until ? since : until}
      union select agent from learned_tools where tenant_id = ${tenantId}
      union select agent from governance_plans where tenant_id = ${tenantId}
      union select agent from set_aside_captures where tenant_id = ${tenantId}
    ) as known`
  return row?.agents ?? 0
}

export interface TroubledSessions {
  agent: string
  status: Exclude<SessionStatus, 'ACTIVE'>
  sessions: number
}

/** Sessions since then that are not active any more, by those of the agents that have any. */
export async function countTroubledSessions(
  sql: Queryable,
  { tenantId, since, agents }: { tenantId: string; since: Date; agents: readonly string[] },
): Promise<TroubledSessions[]> {
  return sql<TroubledSessions[]>`
    select agent, status, count(*)::int as sessions from sessions
    where tenant_id = ${tenantId} and status <> 'ACTIVE' and created_at >= ${since}
      and agent = any (${[...agents]}::text[])
    group by 1, status`
}

export interface Attachment {
  agent: string
  environment: Environment
  status: 'draft' | 'approved'
  compiledHash: string | null
  approvedAt: Date | null
}

/** Where each of the agents stands: the plan in force, or that a draft waits. */
export async function listAttachments(
  sql: Queryable,
  tenantId: string,
  agents: readonly string[],
): Promise<Attachment[]> {
  return sql<Attachment[]>`
    select distinct on (agent, environment) agent, environment, status, compiled_hash, approved_at from (
      select agent, environment, 'approved' as status, compiled_hash, approved_at, 0 as rank
      from approved_plans where tenant_id = ${tenantId} and agent = any (${[...agents]}::text[])
      union all
      select agent, environment, 'draft', null, null, 1
      from governance_plans
      where tenant_id = ${tenantId} and state = 'draft' and agent = any (${[...agents]}::text[])
    ) as standing
    order by agent, environment, rank`
}
