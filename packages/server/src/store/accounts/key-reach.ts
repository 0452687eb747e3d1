import type { Environment } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'

/** Whose a record is. */
export interface Owner {
  readonly agent: string | null
  readonly environment: Environment | null
}

export async function ownerOfSession(sql: Queryable, tenantId: string, id: string): Promise<Owner[]> {
  return sql<Owner[]>`select agent, environment from sessions where tenant_id = ${tenantId} and session_id = ${id}`
}

/** A workflow is of each agent that has a session in it. */
export async function ownersOfWorkflow(sql: Queryable, tenantId: string, id: string): Promise<Owner[]> {
  return sql<Owner[]>`
    select distinct agent, environment from sessions where tenant_id = ${tenantId} and workflow_id = ${id}`
}

/** A backtest is of the agent whose captures it judges, in all environments. */
export async function agentOfRun(sql: Queryable, tenantId: string, id: string): Promise<{ agent: string | null }[]> {
  return sql<{ agent: string | null }[]>`
    select against ->> 'agent' as agent from runs where tenant_id = ${tenantId} and run_id = ${id}`
}
