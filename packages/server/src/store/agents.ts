import type { Environment } from '@countersign/protocol'
import type { Queryable } from './database.js'

export interface AgentSummary {
  agent: string
  sessions: number
  lastSeen: Date | null
  /** Calls of governed sessions. */
  enforced: number
  /** Calls seen by observation, and those of them whose tool has a contract in an approved plan. */
  observed: number
  covered: number
}

const UNCOUNTED_MS = 2 * 3_600_000

/** Every agent that was governed since, observed or given a plan. */
export async function listAgents(
  sql: Queryable,
  { tenantId, since, now }: { tenantId: string; since: Date; now: Date },
): Promise<AgentSummary[]> {
  // Agents whose sessions are not counted yet.
  const lately = new Date(now.getTime() - UNCOUNTED_MS)
  return sql<AgentSummary[]>`
    with approved_tools as (
      select distinct a.agent, c ->> 'tool' as tool_name
      from approved_plans a join plans p using (tenant_id, compiled_hash), json_array_elements(p.compiled_session -> 'contracts') c
      where a.tenant_id = ${tenantId}
    ), governed as (
      select agent, sum(calls)::int as calls from decision_counts
      where tenant_id = ${tenantId} and grain = 'hour' and at >= ${since} group by agent
    ), begun as (
      select agent, sum(sessions)::int as sessions from session_counts
      where tenant_id = ${tenantId} and hour >= ${since} group by agent
    ), learned as (
      select l.agent, sum(l.samples)::int as observed, max(l.updated_at) as seen,
        coalesce(sum(l.samples) filter (where t.tool_name is not null), 0)::int as covered
      from learned_tools l left join approved_tools t on t.agent = l.agent and t.tool_name = l.tool_name
      where l.tenant_id = ${tenantId} group by l.agent
    ), named as (
      select agent from begun union select agent from governed union select agent from learned
      union select agent from governance_plans where tenant_id = ${tenantId}
      union select agent from (
        select distinct agent from sessions where tenant_id = ${tenantId} and created_at >= ${lately}
      ) as recent
    )
    select n.agent, coalesce(b.sessions, 0) as sessions, coalesce(g.calls, 0) as enforced,
      coalesce(l.observed, 0) as observed, coalesce(l.covered, 0) as covered,
      greatest((select max(created_at) from sessions s where s.tenant_id = ${tenantId} and s.agent = n.agent), l.seen) as last_seen
    from named n
      left join begun b on b.agent = n.agent left join governed g on g.agent = n.agent left join learned l on l.agent = n.agent
    where n.agent <> '' order by last_seen desc nulls last, n.agent limit 200`
}

export interface Attachment {
  agent: string
  environment: Environment
  status: 'draft' | 'approved'
  compiledHash: string | null
  approvedAt: Date | null
}

/** Where each agent stands: the plan in force, or that a draft waits. */
export async function listAttachments(sql: Queryable, tenantId: string): Promise<Attachment[]> {
  return sql<Attachment[]>`
    select distinct on (agent, environment) agent, environment, status, compiled_hash, approved_at from (
      select agent, environment, 'approved' as status, compiled_hash, approved_at, 0 as rank
      from approved_plans where tenant_id = ${tenantId}
      union all
      select agent, environment, 'draft', null, null, 1
      from governance_plans where tenant_id = ${tenantId} and state = 'draft'
    ) as standing
    order by agent, environment, rank`
}
