import type { Input, Reply, Routes } from '@countersign/protocol'
import type { Context } from '../context/context.js'
import { killWorkflow as kill } from './kill.js'

/** Kills a workflow and every session in it. Killing it again changes nothing. */
export function killWorkflow(
  ctx: Context,
  { params, body }: Input<Routes['killWorkflow']>,
): Promise<Reply<Routes['killWorkflow']>> {
  return kill(ctx, { workflowId: params.workflow_id, by: 'client', reason: body.reason })
}
