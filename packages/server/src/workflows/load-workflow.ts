import type { Input, Reply, Routes } from '@countersign/protocol'
import type { Context } from '../context/context.js'
import { workflowView } from './workflow-view.js'

export async function loadWorkflow(
  ctx: Context,
  { params }: Input<Routes['loadWorkflow']>,
): Promise<Reply<Routes['loadWorkflow']>> {
  return workflowView(ctx, params.workflow_id)
}
