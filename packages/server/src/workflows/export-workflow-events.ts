import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import { inRead } from '../context/work.js'
import { findSignedHead } from '../store/ledgers/signed-heads.js'
import { PAGE_BYTES } from '../store/sessions/ledger.js'
import { loadWorkflow, loadWorkflowEvents } from '../store/workflows/workflows.js'

/** The ledger of a workflow, page by page, up to where it stands now; with the first page the head that was signed. */
export async function exportWorkflowEvents(
  ctx: Context,
  { params, query }: Input<Routes['exportWorkflowEvents']>,
): Promise<Reply<Routes['exportWorkflowEvents']>> {
  const { after, limit } = query
  const name = { ledger: 'workflow', tenantId: ctx.tenant.tenantId, id: params.workflow_id } as const
  // Before the workflow is read, so that the signed head is not the newer one.
  const found = after === 0 ? await inRead(ctx, (sql) => findSignedHead(sql, name)) : null
  const workflow = await inRead(ctx, (sql) => loadWorkflow(sql, name.tenantId, name.id))
  if (workflow === null) throw new ApiError('NOT_FOUND')
  const { tenantId, workflowId, ledger } = workflow
  const page = { tenantId, workflowId, after, upTo: ledger.seq, limit, maxBytes: PAGE_BYTES }
  const events = await inRead(ctx, (sql) => loadWorkflowEvents(sql, page))
  // Archived meanwhile: nothing of it is broken.
  if (
    events.length === 0 &&
    after < ledger.seq &&
    (await inRead(ctx, (sql) => loadWorkflow(sql, tenantId, workflowId))) === null
  )
    throw new ApiError('NOT_FOUND')
  const last = events.at(-1)?.seq ?? ledger.seq
  const next = last < ledger.seq ? last : null
  const exported = { workflow_id: workflowId, events, next, head: ledger }
  return after === 0 ? { ...exported, signed_head: found?.signed ?? null } : exported
}
