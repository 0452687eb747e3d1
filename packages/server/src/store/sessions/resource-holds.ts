import { LIMITS } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'
import { deleteSome } from '../delete-some.js'
import { appendWorkflowEvents, type NewWorkflowEvent, type WorkflowRow } from '../workflows/workflows.js'
import type { SessionRow } from './session-row.js'

export interface NewHold {
  readonly pending_call_id: string
  readonly key_hash: string
  /** Null where the session stores metadata only. */
  readonly key_text: string | null
  readonly mode: 'exclusive' | 'shared'
}

export interface HeldResource {
  readonly keyHash: string
  readonly mode: 'exclusive' | 'shared'
  readonly sessionId: string
}

/** What calls of the workflow's other sessions hold now; one more than there may be, if there are more. */
export async function listHoldsOfOthers(
  sql: Queryable,
  workflow: WorkflowRow,
  sessionId: string,
): Promise<HeldResource[]> {
  return sql<HeldResource[]>`
    select key_hash, mode, session_id from resource_holds
    where tenant_id = ${workflow.tenantId} and workflow_id = ${workflow.workflowId} and session_id <> ${sessionId}
      and (ends_at is null or ends_at > clock_timestamp())
    order by held_at limit ${LIMITS.heldResourcesPerWorkflow + 1}`
}

/** What a change under the workflow's lock writes of it: resources taken or set free, and the events that say so. */
export interface WorkflowChange {
  readonly workflow: WorkflowRow
  readonly held?: { readonly holds: readonly NewHold[]; readonly endsAt: Date | null }
  /** Calls that have an outcome: what they held is free. */
  readonly released?: readonly string[]
  readonly events: readonly NewWorkflowEvent[]
}

export async function writeWorkflowChange(tx: Queryable, session: SessionRow, change: WorkflowChange): Promise<void> {
  if (change.held !== undefined) await insertHolds(tx, session, change.held)
  if (change.released !== undefined) await deleteHolds(tx, session, change.released)
  if (!(await appendWorkflowEvents(tx, change.workflow, change.events)))
    throw new Error('a locked workflow was changed')
}

async function insertHolds(
  tx: Queryable,
  { fixed, now }: SessionRow,
  { holds, endsAt }: NonNullable<WorkflowChange['held']>,
): Promise<void> {
  await tx`
    insert into resource_holds (
      tenant_id, workflow_id, session_id, pending_call_id, key_hash, key_text, mode, held_at, ends_at
    )
    select ${fixed.tenantId}, ${fixed.workflowId}, ${fixed.sessionId}, h.pending_call_id, h.key_hash, h.key_text,
      h.mode, ${now}, ${endsAt}::timestamptz
    from json_to_recordset(${JSON.stringify(holds)}::text::json)
      as h (pending_call_id text, key_hash text, key_text text, mode text)`
}

async function deleteHolds(tx: Queryable, { fixed }: SessionRow, pendingCallIds: readonly string[]): Promise<void> {
  await tx`
    delete from resource_holds
    where tenant_id = ${fixed.tenantId} and workflow_id = ${fixed.workflowId} and session_id = ${fixed.sessionId}
      and pending_call_id = any (${[...pendingCallIds]}::text[])`
}

/** When what a killed session's calls hold is free without an outcome. */
export const holdsEndAfterKill = (now: Date): Date =>
  new Date(now.getTime() + LIMITS.resourceHoldAfterKillSeconds * 1_000)

/** Removes holds that have ended. Returns how many. */
export function deleteEndedHolds(sql: Queryable, limit: number): Promise<number> {
  return deleteSome(sql, 'resource_holds', sql`ends_at < statement_timestamp()`, limit)
}
