import { hashPlan, hashPlanInSteps, type Plan } from '@countersign/engine'
import type { CompiledSession } from '@countersign/protocol'
import type { WorkOwner } from '../base/work/in-turns.js'
import type { Context } from './context.js'
import type { RefusedPlan } from './plan-cache.js'
import { refusePlan, requireNotRefused } from './refuse-plan.js'
import type { TaskThread } from './tasks.js'
import { inPlanThread, inTurnsIfLong, workOwner } from './work.js'
import { writeJson } from './write-json.js'

const MAX_PROBLEMS = 20

/** Prepares a plan that a request brought. 400 where it is wrong, at once where the same one was wrong before. */
export async function prepareSentPlan(ctx: Context, compiled: CompiledSession, knownHash?: string): Promise<Plan> {
  const hash = knownHash ?? (await hashSentPlan(ctx, compiled))
  requireNotRefused(ctx, hash)
  const by = workOwner(ctx)
  const tryFirst = () => tryInThread(ctx, compiled, by)
  const prepared = await ctx.app.plans.prepare(compiled, { hash, by, tryFirst })
  if (prepared.ok) return prepared.plan
  throw await refusePlan(ctx, { hash, problems: prepared.problems, most: MAX_PROBLEMS, ms: prepared.ms })
}

/** The hash of a plan that a request brought. That of a large one takes tens of milliseconds, and waits for its turn. */
export const hashSentPlan = (ctx: Context, compiled: CompiledSession): Promise<string> =>
  inTurnsIfLong(ctx, hashPlanInSteps(compiled), () => hashPlan(compiled))

/**
 * Some parts of a plan are read in one piece, as patterns by RE2 and policies by Cedar, and how long that takes is known
 * by measuring only. What this process has not prepared yet, a thread prepares first, which may end (decision 0170).
 * Null where nothing is wrong with the plan.
 */
async function tryInThread(ctx: Context, compiled: CompiledSession, by: WorkOwner): Promise<RefusedPlan | null> {
  const json = await writeJson(by.tenantId, compiled)
  return inPlanThread(ctx, 'tryPlan', json, { ...by, isOwed: by.isOwed || json.length <= SHORT_PLAN })
}

/** However many agents start at once with a plan of their own, a short one takes its turn and is not refused. */
const SHORT_PLAN = 32 * 1024

/** The thread takes a third of a second to start, and to load Cedar. At the start, nobody waits for it. */
export async function warmPlanThread(thread: TaskThread): Promise<void> {
  const policy = { cedar: 'permit(principal, action, resource);' }
  await thread.run('nobody', 'tryPlan', JSON.stringify({ plan_version: 1, session: { policy }, contracts: [] }))
}
