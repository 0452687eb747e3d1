import type { Input, Reply, Routes } from '@countersign/protocol'
import type { UserContext } from '../../context.js'
import { insertAuditEntry } from '../../store/audit.js'
import { killWorkflow } from '../../workflows/kill-workflow.js'

/** Kills a workflow from the dashboard: every agent in it is refused at its next write. */
export async function killWorkflowByPerson(
  ctx: UserContext,
  { params, body }: Input<Routes['killWorkflowByPerson']>,
): Promise<Reply<Routes['killWorkflowByPerson']>> {
  const { tenantId, userId, email } = ctx
  const reply = await killWorkflow(ctx, { workflowId: params.workflow_id, by: 'dashboard', reason: body.reason })
  await insertAuditEntry(ctx.sql, {
    tenantId,
    at: ctx.clock(),
    action: 'workflow_killed',
    userId,
    actor: email,
    ip: ctx.clientAddress,
    subject: params.workflow_id,
    detail: body.reason ?? null,
  })
  return reply
}
