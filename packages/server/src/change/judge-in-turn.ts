import { judgingStepsTaken, type Plan, type Steps } from '@countersign/engine'
import { heldThread, takeStep } from '../base/work/held-thread.js'
import type { Context } from '../context/context.js'
import { inOwedTurns, inPieces, isLong } from '../context/work.js'
import type { LoadedSession } from './change-session.js'

/** About three milliseconds. */
const CHEAP_STEPS = 30_000
/** Whatever was counted: what takes longer goes on in turns. */
const AT_ONCE_MS = 5

/** What a decision by a plan takes of late, in steps of judging, for each tenant: many may have the same plan. */
const stepsOfLate = new WeakMap<Plan, Map<string, number>>()
/** For each plan. Who comes back after as many others waits for a turn once. */
const MAX_TENANTS = 1_000
/** In long steps. A decision that was begun is finished, unless nothing seems to bound it. */
const MOST_HELD_MS = 5_000
/** What a costly decision leaves after each one that follows it: the costliest there is counts as cheap after twenty. */
const KEPT = 0.9

export interface JudgingOptions {
  /** False: evidence of what ran already. It is taken whatever the decisions of its tenant took. */
  readonly isRefusable?: boolean
  /** False: a part of a decision, whose steps are not those of a whole one. */
  readonly isWhole?: boolean
}

/**
 * Judges at once by a plan that has proven cheap for the tenant. Any other decision, and that on a long body, waits for its turn between
 * the tenants: a dozen costly ones at once would leave no time in between, and a kill would wait for all of them.
 */
export function judgeInTurn<Result>(
  ctx: Context,
  { plan, locked }: LoadedSession,
  steps: Steps<Result>,
  options: JudgingOptions = {},
): Result | Promise<Result> {
  const { tenantId } = ctx.tenant
  const counted = counting(ctx, plan, steps, options)
  const isCheap = (stepsOfLate.get(plan)?.get(tenantId) ?? Number.POSITIVE_INFINITY) <= CHEAP_STEPS
  if (isCheap && !isLong(ctx.request.http)) {
    const begunMs = performance.now()
    do {
      const step = takeStep(tenantId, counted)
      if (step.done === true) return step.value
    } while (performance.now() - begunMs < AT_ONCE_MS)
  }
  // Whoever holds the lock does not wait for a turn.
  return (locked ? inPieces : inOwedTurns)(tenantId, counted)
}

function* counting<Result>(
  { tenant: { tenantId } }: Context,
  plan: Plan,
  steps: Steps<Result>,
  { isRefusable = true, isWhole = true }: JudgingOptions,
): Steps<Result> {
  if (isRefusable) heldThread.requireShare(tenantId)
  let taken = 0
  for (;;) {
    const [spent, step] = judgingStepsTaken(() => steps.next())
    taken += spent
    if (step.done === true) {
      if (isWhole) note(plan, tenantId, taken)
      return step.value
    }
    yield
    heldThread.requireShare(tenantId, MOST_HELD_MS)
  }
}

function note(plan: Plan, tenantId: string, taken: number): void {
  const ofPlan = stepsOfLate.get(plan) ?? new Map<string, number>()
  stepsOfLate.set(plan, ofPlan)
  const before = ofPlan.get(tenantId) ?? 0
  // Those that were heard of last stand at the end.
  ofPlan.delete(tenantId)
  ofPlan.set(tenantId, Math.max(taken, before * KEPT))
  if (ofPlan.size <= MAX_TENANTS) return
  const [oldest] = ofPlan.keys()
  if (oldest !== undefined) ofPlan.delete(oldest)
}
