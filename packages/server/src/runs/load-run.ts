import type { Input, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import { inRead } from '../context/work.js'
import { findRun } from '../store/runs/runs.js'
import { type RunReply, replyOf } from './run-reply.js'

/** A run with its report once it is done. */
export async function loadRun(ctx: Context, { params }: Pick<Input<Routes['loadRun']>, 'params'>): Promise<RunReply> {
  const run = await inRead(ctx, (sql) => findRun(sql, ctx.tenant.tenantId, params.run_id))
  if (run === null) throw new ApiError('NOT_FOUND')
  return replyOf(ctx, run)
}
