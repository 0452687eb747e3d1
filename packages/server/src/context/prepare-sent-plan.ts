import { hashPlan, type Plan } from '@countersign/engine'
import type { CompiledSession } from '@countersign/protocol'
import type { Context } from './context.js'
import { refusePlan, requireNotRefused } from './refuse-plan.js'
import { workOwner } from './work.js'

const MAX_PROBLEMS = 20

/** Prepares a plan that a request brought. 400 where it is wrong, at once where the same one was wrong before. */
export async function prepareSentPlan(
  ctx: Context,
  compiled: CompiledSession,
  hash = hashPlan(compiled),
): Promise<Plan> {
  requireNotRefused(ctx, hash)
  const prepared = await ctx.app.plans.prepare(compiled, { hash, by: workOwner(ctx) })
  if (prepared.ok) return prepared.plan
  throw await refusePlan(ctx, { hash, problems: prepared.problems, most: MAX_PROBLEMS, ms: prepared.ms })
}
