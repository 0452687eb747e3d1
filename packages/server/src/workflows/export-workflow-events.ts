import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import { loadWorkflow, loadWorkflowEvents } from '../store/workflows/workflows.js'

/** The ledger of a workflow, page by page, up to where it stands now. */
export async function exportWorkflowEvents(
  ctx: Context,
  { params, query }: Input<Routes['exportWorkflowEvents']>,
): Promise<Reply<Routes['exportWorkflowEvents']>> {
  const workflow = await loadWorkflow(ctx.app.database.sql, ctx.tenant.tenantId, params.workflow_id)
  if (workflow === null) throw new ApiError('NOT_FOUND')
  const { tenantId, workflowId, ledger } = workflow
  const { after, limit } = query
  const events = await loadWorkflowEvents(ctx.app.database.sql, {
    tenantId,
    workflowId,
    after,
    upTo: ledger.seq,
    limit,
  })
  const last = events.at(-1)?.seq ?? ledger.seq
  return { workflow_id: workflowId, events, next: last < ledger.seq ? last : null, head: ledger }
}
