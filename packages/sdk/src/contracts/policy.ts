import { createRequire } from 'node:module'
import { type CedarModule, createPolicyEvaluator, type PolicyEvaluator } from '@countersign/engine'
import { messageOf } from '../base/diagnostics.js'
import { ReplayConfigError } from '../base/errors.js'

let evaluator: PolicyEvaluator | null = null

/** Loads Cedar, an optional peer, when the first plan with a policy needs it. Synchronous, as `replay` is. */
export function loadPolicyEvaluator(): PolicyEvaluator {
  evaluator ??= createPolicyEvaluator(loadCedar())
  return evaluator
}

function loadCedar(): CedarModule {
  try {
    return createRequire(import.meta.url)('@cedar-policy/cedar-wasm/nodejs')
  } catch (cause) {
    throw new ReplayConfigError(
      `the plan has a policy, and Cedar cannot be loaded: install @cedar-policy/cedar-wasm (${messageOf(cause)})`,
      'compilation_failed',
      { cause },
    )
  }
}
