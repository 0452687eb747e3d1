import type { CompiledSession } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import { prepareSentPlan } from '../context/prepare-sent-plan.js'
import type { ReadRun } from '../context/tasks.js'
import { inFind } from '../context/work.js'
import { storePlan, usePlan } from '../store/governance/plans.js'
import { enqueueRun } from './enqueue-run.js'
import { judgeNow } from './judge-run.js'
import type { RunReply } from './run-reply.js'

/** Backtests a plan: against fixtures at once, against captured sessions in the background. */
export async function createRun(ctx: Context, { body }: { readonly body: ReadRun }): Promise<RunReply> {
  await requirePlan(ctx, body)
  const { runId, bodyHash, compiledHash, unmatchedPolicy, against } = body
  return enqueueRun(ctx, {
    runId,
    compiledHash,
    bodyHash,
    against: 'fixtures' in against ? null : against,
    judge: async () =>
      'fixtures' in against ? judgeNow(ctx, { hash: compiledHash, unmatchedPolicy }, against.fixtures) : null,
  })
}

/** A plan by hash, or one that comes along and is stored. Whichever it is, it can be used. */
async function requirePlan(ctx: Context, { compiledHash, compiled }: ReadRun): Promise<void> {
  const { tenantId } = ctx.tenant
  if (compiled === null) {
    const isStored = await inFind(ctx, (sql) => usePlan(sql, tenantId, compiledHash))
    if (!isStored) throw new ApiError('PLAN_UNKNOWN')
    await ctx.app.plans.ofSession((fn) => inFind(ctx, fn), { tenantId, compiledHash }, 0)
    return
  }
  await prepareSentPlan(ctx, JSON.parse(compiled) as CompiledSession)
  await inFind(ctx, async (sql) => storePlan(sql, { tenantId, compiledHash, compiled }))
}
