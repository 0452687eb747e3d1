import type { Input, Reply, Routes } from '@countersign/protocol'
import type { Context } from '../../context.js'
import { insertAuditEntry } from '../../store/audit.js'
import { killWorkflow as kill } from '../../workflows/kill-workflow.js'

/** Kills a workflow and every session in it. Killing it again changes nothing. */
export async function killWorkflow(
  ctx: Context,
  { params, body }: Input<Routes['killWorkflow']>,
): Promise<Reply<Routes['killWorkflow']>> {
  const reply = await kill(ctx, { workflowId: params.workflow_id, by: 'client', reason: body.reason })
  if (reply.sessions_killed > 0) {
    await insertAuditEntry(ctx.sql, {
      tenantId: ctx.tenantId,
      at: ctx.clock(),
      action: 'workflow_killed',
      userId: ctx.userId,
      keyId: ctx.keyId,
      ip: ctx.clientAddress,
      // Without the reason: each session keeps it as its level allows, until it is erased there.
      subject: params.workflow_id,
    })
  }
  return reply
}
