import type { CompiledSession, Environment } from '@countersign/protocol'
import type { Queryable, Tx } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'
import { daysAgo } from '../days-ago.js'

/** A plan of this tenant by its hash. Null when it was never uploaded or approved here. */
export async function findPlan(
  sql: Queryable,
  tenantId: string,
  compiledHash: string,
): Promise<CompiledSession | null> {
  const [row] = await sql<{ compiledSession: CompiledSession }[]>`
    select compiled_session from plans where tenant_id = ${tenantId} and compiled_hash = ${compiledHash}`
  return row?.compiledSession ?? null
}

/** The same as JSON, to hand on. */
export async function findPlanText(sql: Queryable, tenantId: string, compiledHash: string): Promise<string | null> {
  const [row] = await sql<{ compiled: string }[]>`
    select compiled_session::text as compiled from plans
    where tenant_id = ${tenantId} and compiled_hash = ${compiledHash}`
  return row?.compiled ?? null
}

/** The limits that a stored plan sets a session; empty where it sets none. */
export async function findSessionLimits(
  sql: Queryable,
  tenantId: string,
  compiledHash: string,
): Promise<SessionLimits> {
  const [row] = await sql<{ limits: SessionLimits | null }[]>`
    select compiled_session -> 'session' -> 'session_limits' as limits from plans
    where tenant_id = ${tenantId} and compiled_hash = ${compiledHash}`
  return row?.limits ?? {}
}

type SessionLimits = NonNullable<CompiledSession['session']['session_limits']>

/** Keeps a plan for a new session. False when the tenant has none by this hash. */
export async function claimPlan(sql: Queryable, tenantId: string, compiledHash: string): Promise<boolean> {
  const [row] = await sql<{ permanent: boolean }[]>`
    select permanent from plans where tenant_id = ${tenantId} and compiled_hash = ${compiledHash}`
  if (row === undefined || row.permanent) return row !== undefined
  const claimed = await sql`
    update plans set permanent = true where tenant_id = ${tenantId} and compiled_hash = ${compiledHash} returning 1`
  return claimed.length === 1
}

/** Stores the plan of a draft or a run, given as JSON. Storing it again changes nothing but when it was used: the hash is its content. */
export async function storePlan(
  sql: Queryable,
  plan: { tenantId: string; compiledHash: string; compiled: string },
): Promise<void> {
  await sql`
    insert into plans (tenant_id, compiled_hash, compiled_session)
    values (${plan.tenantId}, ${plan.compiledHash}, ${plan.compiled}::text::json)
    on conflict (tenant_id, compiled_hash) do update set used_at = excluded.used_at where not plans.permanent`
}

/** The same, and another transaction that stores it waits until this one has ended. */
export async function storeAndLockPlan(tx: Tx, plan: Parameters<typeof storePlan>[1]): Promise<void> {
  await storePlan(tx, plan)
  await tx`
    select 1 from plans where tenant_id = ${plan.tenantId} and compiled_hash = ${plan.compiledHash}
    for no key update`
}

/** Notes that a plan is asked for again. False when the tenant has none by this hash. */
export async function usePlan(sql: Queryable, tenantId: string, compiledHash: string): Promise<boolean> {
  const rows = await sql`
    update plans set used_at = statement_timestamp() where tenant_id = ${tenantId} and compiled_hash = ${compiledHash}
    returning 1`
  return rows.length === 1
}

/**
 * Removes plans that were last used more than `days` ago and to which nothing refers: no session, no draft or approval, no run
 * that waits. Those to which something refers count as used, so that they are not looked at again until as many days have
 * passed. A user of a plan writes its row first, and is seen here, or finds it gone. Who
 * refers to a plan is looked up plan by plan (`offset 0`): reading all approvals and drafts of all tenants would take as long
 * as one of them likes.
 */
export async function deleteUnusedPlans(
  sql: Queryable,
  days: number,
  limit: number,
): Promise<{ seen: number; removed: number }> {
  const isOld = sql`not permanent and used_at < ${daysAgo(sql, days)}`
  const found = await sql<{ tenantId: string; hashes: string[] }[]>`
    ${across(sql, 'unused plans')} select tenant_id, array_agg(compiled_hash) as hashes from (
      select tenant_id, compiled_hash from plans where ${isOld} order by used_at limit ${limit}
    ) as oldest group by tenant_id order by tenant_id`
  let [seen, removed] = [0, 0]
  for (const { tenantId, hashes } of found) {
    const [row] = await sql<{ seen: number; removed: number }[]>`
      with old as (
        select compiled_hash from plans
        where tenant_id = ${tenantId} and compiled_hash = any (${hashes}::text[]) and ${isOld} for update skip locked
      ), judged as (
        select o.*, exists (select 1 from governance_plans g
            where g.tenant_id = ${tenantId} and g.compiled_hash = o.compiled_hash offset 0)
          or exists (select 1 from approved_plans a
            where a.tenant_id = ${tenantId} and a.compiled_hash = o.compiled_hash offset 0)
          or exists (select 1 from runs r
            where r.tenant_id = ${tenantId} and r.compiled_hash = o.compiled_hash and r.status in ('queued', 'running')
            offset 0) as is_referred_to
        from old o
      ), kept as (
        update plans p set used_at = statement_timestamp() from judged j
        where p.tenant_id = ${tenantId} and p.compiled_hash = j.compiled_hash and j.is_referred_to
      ), removed as (
        delete from plans p using judged j
        where p.tenant_id = ${tenantId} and p.compiled_hash = j.compiled_hash and not j.is_referred_to
      )
      select count(*)::int as seen, count(*) filter (where not is_referred_to)::int as removed from judged`
    seen += row?.seen ?? 0
    removed += row?.removed ?? 0
  }
  return { seen, removed }
}

/** The hash of the plan in force for this agent and environment. Null when none was approved. */
export async function findApprovedHash(
  sql: Queryable,
  scope: { tenantId: string; agent: string; environment: Environment },
): Promise<string | null> {
  const [row] = await sql<{ compiledHash: string }[]>`
    select compiled_hash from approved_plans
    where tenant_id = ${scope.tenantId} and agent = ${scope.agent} and environment = ${scope.environment}`
  return row?.compiledHash ?? null
}

/** The plans in force for an agent as JSON, production first, with the tools that each has a contract for. */
export function findApprovedPlans(
  sql: Queryable,
  tenantId: string,
  agent: string,
): Promise<{ compiled: string; tools: string[] }[]> {
  return sql<{ compiled: string; tools: string[] }[]>`
    select compiled_session::text as compiled,
      array(select contract->>'tool' from json_array_elements(compiled_session->'contracts') contract) as tools
    from approved_plans a join plans p on p.tenant_id = ${tenantId} and p.compiled_hash = a.compiled_hash
    where a.tenant_id = ${tenantId} and a.agent = ${agent}
    order by array_position(array['production', 'staging', 'development'], environment)`
}
