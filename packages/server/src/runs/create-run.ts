import type { Plan } from '@countersign/engine'
import type { Input, JsonValue, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import { prepareSentPlan } from '../context/prepare-sent-plan.js'
import { inStatement } from '../context/work.js'
import { storePlan, usePlan } from '../store/governance/plans.js'
import { enqueueRun } from './enqueue-run.js'
import { judgeNow } from './judge-run.js'

type Body = Input<Routes['createRun']>['body']

/** Backtests a plan: against fixtures at once, against captured sessions in the background. */
export async function createRun(
  ctx: Context,
  { body }: Input<Routes['createRun']>,
): Promise<Reply<Routes['createRun']>> {
  const plan = await planOf(ctx, body.plan)
  const { against, unmatched_policy: unmatchedPolicy } = body
  return enqueueRun(ctx, {
    runId: body.run_id,
    compiledHash: plan.hash,
    content: { against, unmatchedPolicy, plan: plan.hash } as unknown as JsonValue,
    against:
      'fixtures' in against
        ? null
        : { agent: against.agent, since: against.since ?? null, maxSessions: against.max_sessions, unmatchedPolicy },
    judge: async () =>
      'fixtures' in against ? judgeNow(ctx, { hash: plan.hash, unmatchedPolicy }, against.fixtures) : null,
  })
}

/** A plan by hash, or one that comes along and is stored. */
async function planOf(ctx: Context, given: Body['plan']): Promise<Plan> {
  const { tenantId } = ctx.tenant
  if ('compiled_hash' in given) {
    const isStored = await inStatement(ctx, (sql) => usePlan(sql, tenantId, given.compiled_hash))
    if (!isStored) throw new ApiError('PLAN_UNKNOWN')
    return ctx.app.plans.ofSession(ctx.app.database.sql, { tenantId, compiledHash: given.compiled_hash })
  }
  const plan = await prepareSentPlan(ctx, given.compiled_session)
  const compiledHash = plan.hash
  await inStatement(ctx, async (sql) =>
    storePlan(sql, { tenantId, compiledHash, compiledSession: given.compiled_session }),
  )
  return plan
}
