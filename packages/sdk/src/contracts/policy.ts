import { createRequire } from 'node:module'
import { type CedarModule, createPolicyEvaluator, loadCedar, type PolicyEvaluator } from '@countersign/engine'
import { messageOf } from '../base/diagnostics.js'
import { ReplayConfigError } from '../base/errors.js'

let evaluator: PolicyEvaluator | null = null

/** Loads Cedar, an optional peer, when the first plan with a policy needs it. Synchronous, as `replay` is. */
export function loadPolicyEvaluator(): PolicyEvaluator {
  if (evaluator === null) {
    let next: CedarModule | null = newInstance()
    evaluator = createPolicyEvaluator(() => {
      const instance = next ?? newInstance()
      next = null
      return instance
    })
  }
  return evaluator
}

function newInstance(): CedarModule {
  try {
    return loadCedar(createRequire(import.meta.url))
  } catch (cause) {
    throw new ReplayConfigError(
      `the plan has a policy, and Cedar cannot be loaded: install @cedar-policy/cedar-wasm (${messageOf(cause)})`,
      'compilation_failed',
      { cause },
    )
  }
}
