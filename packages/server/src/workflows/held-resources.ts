import {
  modesConflict,
  type Plan,
  type ReadResponse,
  type ResourceMode,
  saltedHash,
  type Verdict,
} from '@countersign/engine'
import { LIMITS, type SessionStatus } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { groupBy } from '../base/group-by.js'
import type { LoadedSession } from '../change/change-session.js'
import { chainOnWorkflow } from '../change/change-workflow.js'
import {
  holdsEndAfterKill,
  listHoldsOfOthers,
  type NewHold,
  type WorkflowChange,
} from '../store/sessions/resource-holds.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import type { WorkflowRow } from '../store/workflows/workflows.js'

/** Whether a response calls tools that work on what the sessions of a workflow share. */
export function claimsResources(session: SessionRow, plan: Plan, response: ReadResponse): boolean {
  if (session.fixed.workflowId === null) return false
  return response.calls.some(({ name }) => (plan.contracts.get(name)?.resources.length ?? 0) > 0)
}

/** Who else holds a resource in a way that excludes this use of it. 409 where they hold too many to compare with. */
export async function heldByOthers(
  { query, session }: LoadedSession,
  workflow: WorkflowRow,
): Promise<(key: string, mode: ResourceMode) => string | null> {
  const holds = await query((sql) => listHoldsOfOthers(sql, workflow, session.fixed.sessionId))
  if (holds.length > LIMITS.heldResourcesPerWorkflow) throw new ApiError('WORKFLOW_LIMIT')
  const byKey = groupBy(holds, ({ keyHash }) => keyHash)
  return (key, mode) => {
    const same = byKey.get(saltedHash(workflow.keySalt, key))
    return same?.find((hold) => modesConflict(hold.mode, mode))?.sessionId ?? null
  }
}

/** What the registered calls work on is theirs until they have an outcome. Undefined where they work on nothing shared. */
export function holdResources({ session, workflow, resources, status }: Claim): WorkflowChange | undefined {
  const holds = [...resources].flatMap(([pendingCallId, claims]) => holdsOf(session, workflow, pendingCallId, claims))
  if (holds.length === 0) return undefined
  const recorded = holds.map(({ key_text: _, ...hold }) => hold)
  const body = { session_id: session.fixed.sessionId, holds: recorded }
  return {
    workflow,
    held: { holds, endsAt: status === 'KILLED' ? holdsEndAfterKill(session.now) : null },
    events: chainOnWorkflow(workflow, [{ type: 'resources_held', at: session.now.toISOString(), body }]),
  }
}

export interface Claim {
  readonly session: SessionRow
  readonly workflow: WorkflowRow
  readonly resources: Verdict['resources']
  /** Of the session, after the calls were registered. */
  readonly status: SessionStatus
}

/** One hold for each key; a call that uses a key both ways holds it alone. */
function holdsOf(
  session: SessionRow,
  workflow: WorkflowRow,
  pendingCallId: string,
  claims: readonly { readonly key: string; readonly mode: ResourceMode }[],
): NewHold[] {
  const modes = new Map<string, ResourceMode>()
  for (const { key, mode } of claims) if (modes.get(key) !== 'exclusive') modes.set(key, mode)
  return [...modes].map(([key, mode]) => ({
    pending_call_id: pendingCallId,
    key_hash: saltedHash(workflow.keySalt, key),
    key_text: session.fixed.captureLevel === 'metadata' ? null : key,
    mode,
  }))
}

/** Those of the calls that hold something which other sessions of the workflow may wait for. */
export function holdersAmong(session: SessionRow, pendingCallIds: readonly string[]): string[] {
  if (session.fixed.workflowId === null) return []
  const holders = (session.head.state.open?.calls ?? []).filter((call) => call.resources.length > 0)
  return pendingCallIds.filter((id) => holders.some((call) => call.pending_call_id === id))
}

/** The calls have an outcome: what they held is free. */
export function releaseResources(
  session: SessionRow,
  workflow: WorkflowRow,
  pendingCallIds: readonly string[],
): WorkflowChange {
  const body = { session_id: session.fixed.sessionId, pending_call_ids: [...pendingCallIds] }
  return {
    workflow,
    released: pendingCallIds,
    events: chainOnWorkflow(workflow, [{ type: 'resources_released', at: session.now.toISOString(), body }]),
  }
}
