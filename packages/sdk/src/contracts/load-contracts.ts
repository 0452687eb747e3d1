import {
  type CompileResult,
  compilePlan,
  hashPlan,
  type PlanSources,
  type Preparation,
  preparePlan,
} from '@countersign/engine'
import type { CompiledSession } from '@countersign/protocol'
import { boundedMap } from '../base/bounded-map.js'
import { type ContractsInput, type PreparedContracts, readSources } from './contracts.js'
import { loadPolicyEvaluator } from './policy.js'

/**
 * Contracts for a session, with Cedar where they have a policy. A process compiles the same contracts once, however
 * many sessions it opens: a server opens one for each conversation.
 */
export function loadContracts(input: ContractsInput, session: string | undefined): CompileResult {
  const sources = readSources(input, session)
  const key = contentOf(sources)
  const known = key === null ? undefined : compiled.get(key)
  if (known !== undefined) return known
  const first = compilePlan(sources)
  const result = first.ok && first.plan.usesPolicy ? compilePlan(sources, { policy: loadPolicyEvaluator() }) : first
  if (result.ok && key !== null) compiled.set(key, result)
  return result
}

/** The result of `prepareContracts`, which had no need of Cedar yet. */
export function loadPrepared({ plan, compiled_session, compiled_hash }: PreparedContracts): Preparation {
  return plan.usesPolicy ? loadCompiled(compiled_session, compiled_hash) : { ok: true, plan }
}

/** A plan from its compiled form. A process prepares each plan once, and checks each time that it is that plan. */
export function loadCompiled(session: CompiledSession, hash: string): Preparation {
  const known = prepared.get(hash)
  if (known !== undefined && hashPlan(session) === hash) return known
  const first = preparePlan(session)
  const result = first.ok && first.plan.usesPolicy ? preparePlan(session, { policy: loadPolicyEvaluator() }) : first
  if (result.ok && result.plan.hash === hash) prepared.set(hash, result)
  return result
}

/** By content, and by hash. Programs never get hold of these, so no program can change them for another session. */
const compiled = boundedMap<string, CompileResult>(64)
const prepared = boundedMap<string, Preparation>(64)

/** Files as their text, objects as their JSON. Null where JSON would write two different values alike. */
function contentOf(sources: PlanSources): string | null {
  let isExact = true
  const text = JSON.stringify(sources, (_key, value: unknown) => {
    isExact &&= isWrittenExactly(value)
    return value
  })
  return isExact ? text : null
}

function isWrittenExactly(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
    case 'object':
      return value === null || Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype
    default:
      return false
  }
}
