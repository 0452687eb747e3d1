import { hashPlan, type Plan, type Preparation, preparePlan } from '@countersign/engine'
import { type CompiledSession, compiledSessionSchema } from '@countersign/protocol'
import { z } from 'zod'
import type { Cache } from '../base/memories.js'
import { loadPolicyEvaluator } from '../base/policy.js'
import type { Query } from '../postgres/sql.js'
import { findPlan } from '../store/governance/plans.js'

/** Plans prepared for judging, by hash. A hash is its content, so what is cached cannot go stale. */
export interface PlanCache {
  /** The plan that a session of this tenant was created with, to judge a body of so many bytes. */
  ofSession(
    query: Query,
    session: { readonly tenantId: string; readonly compiledHash: string },
    bodyBytes?: number,
  ): Plan | Promise<Plan>
  /** Prepares a plan that a caller sent, and remembers it when it is valid. */
  prepare(compiled: CompiledSession, tenantId: string): Promise<Preparation>
}

export function createPlanCache(plans: Cache<Plan>): PlanCache {
  const shape = compiledShape()

  const prepare: PlanCache['prepare'] = async (compiled) => {
    // Preparing a plan takes far longer than hashing it, and the same one comes with every session of an agent.
    const known = plans.get(hashPlan(compiled))
    if (known !== undefined) return { ok: true, plan: known }
    const policy = hasPolicy(compiled) ? await loadPolicyEvaluator() : undefined
    const prepared = preparePlan(compiled, { policy, shape })
    if (prepared.ok) plans.set(prepared.plan.hash, prepared.plan, { size: prepared.plan.weight })
    return prepared
  }

  const load = async (query: Query, session: { tenantId: string; compiledHash: string }): Promise<Plan> => {
    const compiled = await query((sql) => findPlan(sql, session.tenantId, session.compiledHash))
    if (compiled === null) throw new Error(`the plan ${session.compiledHash} of a session is gone`)
    const prepared = await prepare(compiled, session.tenantId)
    // Fails the request: a session is judged by the plan it was created with, or not at all.
    if (!prepared.ok) throw new Error(`a stored plan cannot be used: ${prepared.problems.join('; ')}`)
    if (prepared.plan.hash !== session.compiledHash) throw new Error(`the plan ${session.compiledHash} was changed`)
    return prepared.plan
  }

  return {
    ofSession: (query, session) => plans.get(session.compiledHash) ?? load(query, session),
    prepare,
  }
}

const compile = () => z.compile(compiledSessionSchema)
let shape: ReturnType<typeof compile> | undefined

/** Made once in a process: that takes a tenth of a second. */
function compiledShape() {
  shape ??= compile()
  return shape
}

const hasPolicy = ({ session, contracts }: CompiledSession): boolean =>
  session.policy !== undefined || contracts.some((contract) => contract.policy !== undefined)
