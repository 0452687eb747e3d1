import { hashPlan, type Plan, preparePlanInSteps } from '@countersign/engine'
import type { CompiledSession } from '@countersign/protocol'
import { inTurns } from '../base/in-turns.js'
import { loadPolicyEvaluator } from '../base/policy.js'
import type { Queryable } from '../postgres/sql.js'
import { findPlan } from '../store/governance/plans.js'

/** Plans prepared for judging, by hash. A hash is its content, so what is cached cannot go stale. */
export interface PlanCache {
  /** The plan that a session of this tenant was created with. */
  ofSession(sql: Queryable, session: { tenantId: string; compiledHash: string }): Plan | Promise<Plan>
  /** Prepares a plan that a caller sent, and remembers it when it is valid. */
  prepare(compiled: CompiledSession): Promise<{ ok: true; plan: Plan } | { ok: false; problems: string[] }>
}

const MAX_PLANS = 256

/** Least recently used plans go first. */
export function createPlanCache(maxPlans: number = MAX_PLANS): PlanCache {
  const plans = new Map<string, Plan>()

  const remember = (plan: Plan): Plan => {
    plans.delete(plan.hash)
    plans.set(plan.hash, plan)
    if (plans.size > maxPlans) plans.delete(plans.keys().next().value ?? '')
    return plan
  }

  const prepare: PlanCache['prepare'] = async (compiled) => {
    // Preparing a plan takes far longer than hashing it, and the same one comes with every session of an agent.
    const known = plans.get(hashPlan(compiled))
    if (known !== undefined) return { ok: true, plan: remember(known) }
    const policy = hasPolicy(compiled) ? await loadPolicyEvaluator() : undefined
    const prepared = await inTurns(preparePlanInSteps(compiled, { policy }))
    if (prepared.ok) remember(prepared.plan)
    return prepared
  }

  const load = async (sql: Queryable, session: { tenantId: string; compiledHash: string }): Promise<Plan> => {
    const compiled = await findPlan(sql, session.tenantId, session.compiledHash)
    if (compiled === null) throw new Error(`the plan ${session.compiledHash} of a session is gone`)
    const prepared = await prepare(compiled)
    // Fails the request: a session is judged by the plan it was created with, or not at all.
    if (!prepared.ok) throw new Error(`a stored plan cannot be used: ${prepared.problems.join('; ')}`)
    if (prepared.plan.hash !== session.compiledHash) throw new Error(`the plan ${session.compiledHash} was changed`)
    return prepared.plan
  }

  return {
    ofSession: (sql, session) => {
      const known = plans.get(session.compiledHash)
      return known === undefined ? load(sql, session) : remember(known)
    },
    prepare,
  }
}

const hasPolicy = ({ session, contracts }: CompiledSession): boolean =>
  session.policy !== undefined || contracts.some((contract) => contract.policy !== undefined)
