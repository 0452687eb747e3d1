import type { WorkflowView } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import { inRead } from '../context/work.js'
import { loadWholeWorkflow } from '../store/workflows/workflow-view.js'
import { handoffView } from './handoff-view.js'

/** The state that all sessions of a workflow share. 404 when the tenant has none by this id. */
export async function workflowView(ctx: Context, workflowId: string): Promise<WorkflowView> {
  const whole = await inRead(ctx, (sql) => loadWholeWorkflow(sql, ctx.tenant.tenantId, workflowId))
  if (whole === null) throw new ApiError('NOT_FOUND')
  const { workflow, definition, sessions, handoffs, holds } = whole
  return {
    workflow_id: workflow.workflowId,
    status: workflow.status,
    definition: { ...definition, handoffs: definition.handoffs ?? [] },
    created_at: workflow.createdAt.toISOString(),
    labels: [...new Set(sessions.flatMap(({ labels }) => labels))].sort(),
    sessions: sessions.map(({ session_id, role, status, activity, labels, tools, handoff_id }) => ({
      ...{ session_id, role, status, activity, labels, tools, handoff_id },
    })),
    handoffs: handoffs.map((handoff) => handoffView(handoff, workflow.now)),
    resources: holds.map(({ key_text, key_hash, mode, session_id, pending_call_id, ends_at }) => ({
      key: key_text ?? `sha256:${key_hash}`,
      mode,
      session_id,
      pending_call_id,
      ends_at: ends_at === null ? null : new Date(ends_at).toISOString(),
    })),
    ledger: workflow.ledger,
  }
}
