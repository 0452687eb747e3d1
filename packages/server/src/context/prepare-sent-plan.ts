import { hashPlan, hashPlanInSteps, type Plan } from '@countersign/engine'
import type { CompiledSession } from '@countersign/protocol'
import type { Context } from './context.js'
import { refusePlan, requireNotRefused } from './refuse-plan.js'
import { inTurnsIfLong, workOwner } from './work.js'

const MAX_PROBLEMS = 20

/** Prepares a plan that a request brought. 400 where it is wrong, at once where the same one was wrong before. */
export async function prepareSentPlan(ctx: Context, compiled: CompiledSession, knownHash?: string): Promise<Plan> {
  const hash = knownHash ?? (await hashSentPlan(ctx, compiled))
  requireNotRefused(ctx, hash)
  const prepared = await ctx.app.plans.prepare(compiled, { hash, by: workOwner(ctx) })
  if (prepared.ok) return prepared.plan
  throw await refusePlan(ctx, { hash, problems: prepared.problems, most: MAX_PROBLEMS, ms: prepared.ms })
}

/** The hash of a plan that a request brought. That of a large one takes tens of milliseconds, and waits for its turn. */
export const hashSentPlan = (ctx: Context, compiled: CompiledSession): Promise<string> =>
  inTurnsIfLong(ctx, hashPlanInSteps(compiled), () => hashPlan(compiled))
