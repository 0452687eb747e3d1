import { setImmediate } from 'node:timers/promises'
import { hashPlan, type Plan, preparePlan } from '@countersign/engine'
import type { Log } from '../base/log.js'
import type { Cache } from '../base/memories.js'
import type { Database } from '../postgres/database.js'
import { findPlan } from '../store/governance/plans.js'
import { IN_PLACE, NotInPlace } from './in-place.js'
import type { PlanCache } from './plan-cache.js'
import { planCost } from './plan-cost.js'

/** A plan that a thread has used, and may be cheap enough to judge by it in place. */
export interface UsedPlan {
  readonly tenantId: string
  readonly hash: string
}

/** The plans of the thread that answers requests: only small ones, by which it judges soon. */
export interface PlansInPlace extends PlanCache {
  /** Prepares a plan for the requests that follow. */
  take(used: UsedPlan): Promise<void>
}

export function createPlansInPlace(
  { database, log }: { readonly database: Database; readonly log: Log },
  plans: Cache<Plan>,
): PlansInPlace {
  const taking = new Set<string>()
  /** One after another, and other requests go first. */
  let last: Promise<unknown> = Promise.resolve()

  const prepare = async ({ tenantId, hash }: UsedPlan): Promise<void> => {
    const compiled = await database.find(tenantId, (sql) => findPlan(sql, tenantId, hash))
    if (compiled === null) return
    const prepared = preparePlan(compiled)
    if (!prepared.ok || prepared.plan.hash !== hash) return
    plans.set(hash, prepared.plan, { size: prepared.plan.weight })
  }

  return {
    ofSession: (_, { compiledHash }, bodyBytes = IN_PLACE.bodyBytes) => {
      const plan = plans.get(compiledHash)
      if (plan === undefined || planCost(plan) * bodyBytes > IN_PLACE.costOfBytes) throw new NotInPlace()
      return plan
    },
    prepare: async (compiled) => {
      const plan = plans.get(hashPlan(compiled))
      if (plan === undefined) throw new NotInPlace()
      return { ok: true, plan }
    },
    take: async (used) => {
      if (taking.has(used.hash) || plans.get(used.hash) !== undefined) return
      taking.add(used.hash)
      try {
        const mine = last.then(() => setImmediate()).then(() => prepare(used))
        last = mine.catch(() => {})
        await mine
      } catch (error) {
        // It is taken with the next request that uses it.
        log.debug({ error }, 'a plan could not be prepared in place')
      } finally {
        taking.delete(used.hash)
      }
    },
  }
}

/** Whether the thread that answers requests may prepare a plan, and judge at least short calls by it. */
export const isForInPlace = (plan: Plan): boolean =>
  plan.weight <= IN_PLACE.planBytes && planCost(plan) * 1_024 <= IN_PLACE.costOfBytes
