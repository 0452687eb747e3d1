import { CONTRACT_SHAPE, hashPlan, hashPlanInSteps, type Plan, preparePlanInSteps } from '@countersign/engine'
import type { CompiledSession } from '@countersign/protocol'
import { z } from 'zod'
import type { Cache } from '../base/memory/cache.js'
import { loadPolicyEvaluator } from '../base/policy.js'
import { turns, type WorkOwner } from '../base/work/in-turns.js'
import type { Query } from '../postgres/sql.js'
import { findPlan } from '../store/governance/plans.js'

/** Plans prepared for judging, by hash. A hash is its content, so what is cached cannot go stale. */
export interface PlanCache {
  /** The plan that a session of this tenant was created with. */
  ofSession(query: Query, session: { tenantId: string; compiledHash: string }): Plan | Promise<Plan>
  /** Prepares a plan that a caller sent, and remembers it when it is valid. */
  prepare(compiled: CompiledSession, options: PrepareOptions): Promise<Prepared>
}

export interface PrepareOptions {
  /** Whose work it is: preparing takes long, and tenants take turns. */
  readonly by: WorkOwner
  /** The plan's hash, where it is known already. */
  readonly hash?: string
  /** Looks at a plan that is not known here before it is prepared. */
  readonly tryFirst?: () => Promise<RefusedPlan | null>
}

export type Prepared = { ok: true; plan: Plan } | RefusedPlan

/** With how long it took to find out what is wrong. */
export interface RefusedPlan {
  readonly ok: false
  readonly problems: string[]
  readonly ms: number
}

/** A plan counts against the share of the tenant that it was prepared for first, whoever uses it later. */
export function createPlanCache(plans: Cache<Plan>): PlanCache {
  const contractShape = z.compile(CONTRACT_SHAPE)
  /** By tenant and hash: requests that need the same plan at once wait for one preparation. */
  const preparing = new Map<string, Promise<Prepared>>()

  const prepare: PlanCache['prepare'] = async (compiled, { by, hash = hashPlan(compiled), tryFirst }) => {
    // Preparing a plan takes far longer than hashing it, and the same one comes with every session of an agent.
    const known = plans.find(hash)
    if (known !== undefined) return { ok: true, plan: known }
    // What is owed does not wait for what may still be refused.
    const name = `${by.tenantId} ${hash} ${by.isOwed}`
    const begun = preparing.get(name)
    if (begun !== undefined) return begun
    const work = prepareNow(compiled, by, tryFirst).finally(() => preparing.delete(name))
    preparing.set(name, work)
    return work
  }

  const prepareNow = async (
    compiled: CompiledSession,
    by: WorkOwner,
    tryFirst: PrepareOptions['tryFirst'],
  ): Promise<Prepared> => {
    const refused = await tryFirst?.()
    if (refused) return refused
    const policy = hasPolicy(compiled) ? await loadPolicyEvaluator() : undefined
    const begun = { ...by, isBegun: tryFirst !== undefined }
    const { value: prepared, ms } = await turns.run(begun, preparePlanInSteps(compiled, { policy, contractShape }))
    if (!prepared.ok) return { ...prepared, ms }
    const { plan } = prepared
    plans.remember(plan.hash, plan, { owner: by.tenantId, bytes: plan.weight })
    return prepared
  }

  const load = async (query: Query, session: { tenantId: string; compiledHash: string }): Promise<Plan> => {
    const compiled = await query((sql) => findPlan(sql, session.tenantId, session.compiledHash))
    if (compiled === null) throw new Error(`the plan ${session.compiledHash} of a session is gone`)
    const by = { tenantId: session.tenantId, isOwed: true }
    const { value: hash } = await turns.run(by, hashPlanInSteps(compiled))
    const prepared = await prepare(compiled, { hash, by })
    // Fails the request: a session is judged by the plan it was created with, or not at all.
    if (!prepared.ok) throw new Error(`a stored plan cannot be used: ${prepared.problems.join('; ')}`)
    if (prepared.plan.hash !== session.compiledHash) throw new Error(`the plan ${session.compiledHash} was changed`)
    return prepared.plan
  }

  return {
    ofSession: (query, session) => plans.find(session.compiledHash) ?? load(query, session),
    prepare,
  }
}

const hasPolicy = ({ session, contracts }: CompiledSession): boolean =>
  session.policy !== undefined || contracts.some((contract) => contract.policy !== undefined)
