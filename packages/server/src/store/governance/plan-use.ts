import type { PlanUse } from '@countersign/engine'
import type { Environment } from '@countersign/protocol'
import { groupBy } from '../../base/group-by.js'
import type { Queryable } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'

/** Sessions that are looked at, proposals of each, and bytes of all: enough to tell a rate, and few enough for a page. */
const NEWEST = 500
const PROPOSALS = 100
const MOST_BYTES = 16_000_000

/** What a plan did in the newest sessions with calls since then. */
export async function countPlanUse(
  sql: Queryable,
  plan: { tenantId: string; agent: string; environment: Environment; compiledHash: string; since: Date },
): Promise<PlanUse> {
  const [row] = await sql<PlanUse[]>`
    with governed as (
      select session_id, created_at from sessions
      where tenant_id = ${plan.tenantId} and agent = ${plan.agent} and created_at >= ${plan.since}
        and compiled_hash = ${plan.compiledHash} and coalesce(environment, ${plan.environment}) = ${plan.environment}
      order by created_at desc, session_id desc limit ${NEWEST}
    ), proposed as (
      -- Without what they say, which may be megabytes each.
      select session_id, seq, sum(bytes) over (order by created_at desc, session_id, seq rows unbounded preceding) as bytes
      from governed cross join lateral (
        select seq, octet_length(record) as bytes from session_events
        where tenant_id = ${plan.tenantId} and session_id = governed.session_id and request_id is not null
        limit ${PROPOSALS}
      ) as e
    ), judged as (
      select session_id, bool_or((d ->> 'checkpoint_required')::boolean) as asked,
        bool_or(d ->> 'decision' = 'block') as blocked
      from proposed
      cross join lateral (
        select decisions from proposals
        where tenant_id = ${plan.tenantId} and session_id = proposed.session_id and seq = proposed.seq offset 0
      ) as p
      cross join lateral json_array_elements(p.decisions) d
      where bytes <= ${MOST_BYTES}
      group by 1
    )
    select count(*)::int as sessions, (count(*) filter (where asked))::int as asked,
      (count(*) filter (where blocked))::int as blocked
    from judged`
  return row ?? { sessions: 0, asked: 0, blocked: 0 }
}

/** A plan in force. */
export interface Approval {
  tenantId: string
  agent: string
  environment: Environment
  compiledHash: string
  since: Date
  /** As it was last found. */
  drift: string | null
}

/**
 * Takes some of the plans in force that promise rates, of all tenants, that were not looked at for so long; first those that
 * waited longest, so that each has its turn however many there are. An index has them in this order, and no others.
 */
export async function takeApprovals(sql: Queryable, afterSeconds: number, limit: number): Promise<Approval[]> {
  const isDue = sql`promises_rates is not false
    and rates_watched_at <= statement_timestamp() - make_interval(secs => ${afterSeconds})`
  const due = await sql<Pick<Approval, 'tenantId' | 'agent' | 'environment'>[]>`
    ${across(sql, 'rates to watch')} select tenant_id, agent, environment from approved_plans
    where ${isDue} order by rates_watched_at limit ${limit}`
  const taken: Approval[] = []
  for (const { tenantId, agent, environment } of due) {
    const rows = await sql<Approval[]>`
      update approved_plans set rates_watched_at = statement_timestamp()
      where tenant_id = ${tenantId} and agent = ${agent} and environment = ${environment} and ${isDue}
      returning tenant_id, agent, environment, compiled_hash, approved_at as since, drift`
    taken.push(...rows)
  }
  return taken
}

/** Leaves plans as if they had been looked at so long ago: they come before those that were looked at since. */
export async function putOffApprovals(sql: Queryable, taken: readonly Approval[], agoSeconds: number): Promise<void> {
  for (const [tenantId, plans] of groupBy(taken, (plan) => plan.tenantId)) {
    await sql`
      update approved_plans a set rates_watched_at = statement_timestamp() - make_interval(secs => ${agoSeconds})
      from json_to_recordset(${JSON.stringify(plans)}::text::json) as t (agent text, environment text)
      where a.tenant_id = ${tenantId} and a.agent = t.agent and a.environment = t.environment`
  }
}

/** What a learned plan in force promised as its rates, and its id. Null: it is not a learned one, or promised none. */
export async function findSurprise(
  sql: Queryable,
  { tenantId, agent, environment, compiledHash }: Approval,
): Promise<{ planId: string; surprise: unknown } | null> {
  const [row] = await sql<{ planId: string; surprise: unknown }[]>`
    select g.plan_id, p.compiled_session #> '{session,surprise}' as surprise
    from plans p join governance_plans g on g.tenant_id = ${tenantId} and g.compiled_hash = p.compiled_hash
    where p.tenant_id = ${tenantId} and p.compiled_hash = ${compiledHash} and g.agent = ${agent}
      and g.environment = ${environment} and g.state = 'approved'
      and p.compiled_session #> '{session,surprise,expected}' is not null`
  return row ?? null
}

/** Notes of a plan that it promises no rates: it is not taken again. */
export async function setNoRates(
  sql: Queryable,
  { tenantId, agent, environment, compiledHash }: Approval,
): Promise<void> {
  await sql`
    update approved_plans set promises_rates = false
    where tenant_id = ${tenantId} and agent = ${agent} and environment = ${environment}
      and compiled_hash = ${compiledHash} and promises_rates is null`
}

/** Keeps why a plan in force does not keep its rates; null while it does. Nothing if another one is in force by now. */
export async function setPlanDrift(
  sql: Queryable,
  { tenantId, agent, environment, compiledHash }: Approval,
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
    join governance_plans g on g.tenant_id = ${tenantId} and g.agent = a.agent and g.environment = a.environment
      and g.compiled_hash = a.compiled_hash and g.state = 'approved'
    where a.tenant_id = ${tenantId} and a.drift is not null
    order by a.approved_at desc, a.agent limit ${limit}`
}
