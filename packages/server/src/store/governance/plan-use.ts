import type { PlanUse } from '@countersign/engine'
import type { Environment } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'

/** Sessions that are looked at: enough to tell a rate, and few enough for a page. */
const NEWEST = 500

/** What a plan did in the newest sessions with calls since then. */
export async function countPlanUse(
  sql: Queryable,
  plan: { tenantId: string; agent: string; environment: Environment; compiledHash: string; since: Date },
): Promise<PlanUse> {
  const [row] = await sql<PlanUse[]>`
    with governed as (
      select session_id from sessions
      where tenant_id = ${plan.tenantId} and agent = ${plan.agent} and created_at >= ${plan.since}
        and compiled_hash = ${plan.compiledHash} and coalesce(environment, ${plan.environment}) = ${plan.environment}
      order by created_at desc, session_id desc limit ${NEWEST}
    ), judged as (
      select p.session_id, bool_or((d ->> 'checkpoint_required')::boolean) as asked,
        bool_or(d ->> 'decision' = 'block') as blocked
      from governed g join proposals p on p.tenant_id = ${plan.tenantId} and p.session_id = g.session_id
      cross join lateral json_array_elements(p.decisions) d
      group by 1
    )
    select count(*)::int as sessions, (count(*) filter (where asked))::int as asked,
      (count(*) filter (where blocked))::int as blocked
    from judged`
  return row ?? { sessions: 0, asked: 0, blocked: 0 }
}

export interface LearnedApproval {
  tenantId: string
  planId: string
  agent: string
  environment: Environment
  compiledHash: string
  since: Date
  /** Its `surprise`, which states what it promised. */
  surprise: unknown
}

/** Learned plans in force that state their rates, of all tenants, those approved last first. */
export function listLearnedApprovals(sql: Queryable, limit: number): Promise<LearnedApproval[]> {
  return sql<LearnedApproval[]>`
    select a.tenant_id, g.plan_id, a.agent, a.environment, a.compiled_hash, a.approved_at as since,
      p.compiled_session #> '{session,surprise}' as surprise
    from approved_plans a
    join plans p using (tenant_id, compiled_hash)
    join governance_plans g on g.tenant_id = a.tenant_id and g.agent = a.agent and g.environment = a.environment
      and g.compiled_hash = a.compiled_hash and g.state = 'approved'
    where p.compiled_session #> '{session,surprise,expected}' is not null
    order by a.approved_at desc limit ${limit}`
}
