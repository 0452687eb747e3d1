import type { Input, Reply, Routes } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { killWorkflow } from '../workflows/kill.js'

/** Kills a workflow from the dashboard: every agent in it is refused at its next write. */
export function killWorkflowByPerson(
  ctx: UserContext,
  { params, body }: Input<Routes['killWorkflowByPerson']>,
): Promise<Reply<Routes['killWorkflowByPerson']>> {
  return killWorkflow(ctx, {
    workflowId: params.workflow_id,
    by: 'dashboard',
    reason: body.reason,
  })
}
