import type { CompiledSession, Environment } from '@countersign/protocol'
import type { Queryable } from './database.js'
import { fixedStatement } from './fixed-statement.js'

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

/** Keeps a plan of a tenant. Storing it again changes nothing: the hash is its content. */
export const KEEP_PLAN = `
    insert into plans (tenant_id, compiled_hash, compiled_session)
    values (:tenant_id::text, :compiled_hash::text, :compiled_session::text::json)
    on conflict do nothing`

const keep = fixedStatement(KEEP_PLAN)

export async function keepPlan(
  sql: Queryable,
  plan: { tenantId: string; compiledHash: string; compiledSession: CompiledSession },
): Promise<void> {
  await keep(sql, {
    tenant_id: plan.tenantId,
    compiled_hash: plan.compiledHash,
    compiled_session: JSON.stringify(plan.compiledSession),
  })
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

/** The plans in force for an agent, production first. */
export async function findApprovedPlans(sql: Queryable, tenantId: string, agent: string): Promise<CompiledSession[]> {
  const rows = await sql<{ compiledSession: CompiledSession }[]>`
    select compiled_session from approved_plans join plans using (tenant_id, compiled_hash)
    where tenant_id = ${tenantId} and agent = ${agent}
    order by array_position(array['production', 'staging', 'development'], environment)`
  return rows.map(({ compiledSession }) => compiledSession)
}
