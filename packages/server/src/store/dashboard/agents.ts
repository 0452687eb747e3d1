import type { Environment, SessionStatus } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'
import { countedUntil } from './decision-counts.js'

export interface KnownAgent {
  agent: string
  /** When anything was last learned from it. */
  seen: Date | null
  /** Calls it was learned from, and those that a contract judged or whose tool has one in an approved plan. */
  samples: number
  covered: number
  /** Calls that no rule judged, and those of them whose tool has no contract in an approved plan. */
  observed: number
  ungoverned: number
}

/** Every agent that was learned from or given a plan. */
export async function listKnownAgents(sql: Queryable, tenantId: string): Promise<KnownAgent[]> {
  return sql<KnownAgent[]>`
    with approved_tools as (
      select distinct a.agent, c ->> 'tool' as tool_name
      from approved_plans a join plans p using (tenant_id, compiled_hash), json_array_elements(p.compiled_session -> 'contracts') c
      where a.tenant_id = ${tenantId}
    ), seen as (
      select l.agent, l.samples, l.judged, l.updated_at, greatest(l.samples - l.passed, 0) as unjudged,
        t.tool_name is not null as is_covered
      from learned_tools l left join approved_tools t on t.agent = l.agent and t.tool_name = l.tool_name
      where l.tenant_id = ${tenantId}
    ), learned as (
      select agent, max(updated_at) as seen, sum(samples)::int as samples, sum(unjudged)::int as observed,
        sum(case when is_covered then samples else least(judged, samples) end) as covered, sum(unjudged) filter (where not is_covered) as ungoverned
      from seen group by agent
    )
    select agent, l.seen, coalesce(l.samples, 0) as samples, coalesce(l.covered, 0)::int as covered,
      coalesce(l.observed, 0) as observed, coalesce(l.ungoverned, 0)::int as ungoverned
    from learned l full join (select distinct agent from governance_plans where tenant_id = ${tenantId}) as planned using (agent)
    order by l.seen desc nulls last, agent limit 200`
}

/** How many agents began a session since, were learned from, or were given a plan. `since` is the start of an hour. */
export async function countAgents(sql: Queryable, tenantId: string, since: Date): Promise<number> {
  const until = await countedUntil(sql)
  const [row] = await sql<{ agents: number }[]>`
    select count(*)::int as agents from (
      select agent from session_counts where tenant_id = ${tenantId} and hour >= ${since} and agent <> ''
      union select agent from sessions
        where tenant_id = ${tenantId} and created_at >= ${since > until ? since : until} and agent is not null
      union select agent from learned_tools where tenant_id = ${tenantId}
      union select agent from governance_plans where tenant_id = ${tenantId}
      union select agent from set_aside_captures where tenant_id = ${tenantId}
    ) as known`
  return row?.agents ?? 0
}

export interface TroubledSessions {
  /** '' for none. */
  agent: string
  status: Exclude<SessionStatus, 'ACTIVE'>
  sessions: number
}

/** Sessions since then that are not active any more, by those of the agents that have any; '' for none. */
export async function countTroubledSessions(
  sql: Queryable,
  { tenantId, since, agents }: { tenantId: string; since: Date; agents: readonly string[] },
): Promise<TroubledSessions[]> {
  return sql<TroubledSessions[]>`
    select coalesce(agent, '') as agent, status, count(*)::int as sessions from sessions
    where tenant_id = ${tenantId} and status <> 'ACTIVE' and created_at >= ${since}
      and coalesce(agent, '') = any (${[...agents]}::text[])
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
