import type { PlanUse } from '@countersign/engine'
import type { Environment } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'

/** Sessions that are looked at, and proposals of each: enough to tell a rate, and few enough for a page. */
const NEWEST = 500
const PROPOSALS = 100

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
      from governed g
      cross join lateral (
        select session_id, decisions from proposals
        where tenant_id = ${plan.tenantId} and session_id = g.session_id limit ${PROPOSALS}
      ) p
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
  /** As it was last found. */
  drift: string | null
}

/**
 * Takes some of the learned plans in force that state their rates, of all tenants: those that nobody looked at for longest,
 * so that each has its turn however many there are.
 */
export function takeLearnedApprovals(sql: Queryable, limit: number): Promise<LearnedApproval[]> {
  return sql<LearnedApproval[]>`
    with longest as (
      select a.tenant_id, a.agent, a.environment
      from approved_plans a join plans p using (tenant_id, compiled_hash)
      where p.compiled_session #> '{session,surprise,expected}' is not null
      order by a.rates_watched_at nulls first, a.approved_at limit ${limit}
    ), taken as (
      update approved_plans a set rates_watched_at = clock_timestamp() from longest l
      where a.tenant_id = l.tenant_id and a.agent = l.agent and a.environment = l.environment
      returning a.*
    )
    select a.tenant_id, g.plan_id, a.agent, a.environment, a.compiled_hash, a.approved_at as since, a.drift,
      p.compiled_session #> '{session,surprise}' as surprise
    from taken a
    join plans p using (tenant_id, compiled_hash)
    join governance_plans g on g.tenant_id = a.tenant_id and g.agent = a.agent and g.environment = a.environment
      and g.compiled_hash = a.compiled_hash and g.state = 'approved'`
}

/** Keeps why a plan in force does not keep its rates; null while it does. Nothing if another one is in force by now. */
export async function setPlanDrift(
  sql: Queryable,
  { tenantId, agent, environment, compiledHash }: LearnedApproval,
  drift: string | null,
): Promise<void> {
  await sql`
    update approved_plans set drift = ${drift}
    where tenant_id = ${tenantId} and agent = ${agent} and environment = ${environment}
      and compiled_hash = ${compiledHash}`
}

export interface DriftingPlan {
  planId: string
  agent: string
  environment: Environment
  drift: string
}

/** Plans in force of a tenant that do not keep their rates, those approved last first. */
export function listDriftingPlans(sql: Queryable, tenantId: string, limit: number): Promise<DriftingPlan[]> {
  return sql<DriftingPlan[]>`
    select g.plan_id, a.agent, a.environment, a.drift
    from approved_plans a
    join governance_plans g on g.tenant_id = a.tenant_id and g.agent = a.agent and g.environment = a.environment
      and g.compiled_hash = a.compiled_hash and g.state = 'approved'
    where a.tenant_id = ${tenantId} and a.drift is not null
    order by a.approved_at desc, a.agent limit ${limit}`
}
