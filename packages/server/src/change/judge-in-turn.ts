import { judgingStepsTaken, type Plan, type Steps } from '@countersign/engine'
import type { Context } from '../context/context.js'
import { inOwedTurns, inPieces, isLong } from '../context/work.js'
import type { LoadedSession } from './change-session.js'

/** About three milliseconds. */
const CHEAP_STEPS = 30_000
/** Whatever was counted: what takes longer goes on in turns. */
const AT_ONCE_MS = 5

/** The most steps of judging that one decision by a plan has taken in this process. */
const mostSteps = new WeakMap<Plan, number>()

/**
 * Judges at once by a plan that has proven cheap. Any other decision, and that on a long body, waits for its turn between
 * the tenants: a dozen costly ones at once would leave no time in between, and a kill would wait for all of them.
 */
export function judgeInTurn<Result>(
  ctx: Context,
  { plan, locked }: LoadedSession,
  steps: Steps<Result>,
): Result | Promise<Result> {
  const counted = counting(plan, steps)
  const isCheap = (mostSteps.get(plan) ?? Number.POSITIVE_INFINITY) <= CHEAP_STEPS
  if (isCheap && !isLong(ctx.request.http)) {
    const begunMs = performance.now()
    do {
      const step = counted.next()
      if (step.done === true) return step.value
    } while (performance.now() - begunMs < AT_ONCE_MS)
  }
  // Whoever holds the lock does not wait for a turn.
  return locked ? inPieces(counted) : inOwedTurns(ctx.tenant.tenantId, counted)
}

function* counting<Result>(plan: Plan, steps: Steps<Result>): Steps<Result> {
  let taken = 0
  for (;;) {
    const [spent, step] = judgingStepsTaken(() => steps.next())
    taken += spent
    if (step.done === true) {
      if (taken > (mostSteps.get(plan) ?? -1)) mostSteps.set(plan, taken)
      return step.value
    }
    yield
  }
}
