import type { Input, Reply, Routes } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { workflowView } from '../workflows/workflow-view.js'

export async function loadWorkflowDetail(
  ctx: UserContext,
  { params }: Input<Routes['loadWorkflowDetail']>,
): Promise<Reply<Routes['loadWorkflowDetail']>> {
  return workflowView(ctx, params.workflow_id)
}
