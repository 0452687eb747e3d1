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
    return loadCedar(createRequire(ownPlace()))
  } catch (cause) {
    throw new ReplayConfigError(
      `the plan has a policy, and Cedar cannot be loaded: ${problemOf(cause)}`,
      'compilation_failed',
      { cause },
    )
  }
}

/** Where this code stands, bundled or not. In a CommonJS bundle `import.meta` is empty, and its file has a name. */
function ownPlace(): string {
  const url: string | undefined = import.meta.url
  if (url !== undefined) return url
  return typeof __filename === 'string' ? __filename : `${process.cwd()}/`
}

/** A bundle does not hold Cedar, which is found beside it when a plan has a policy. */
function problemOf(cause: unknown): string {
  const isMissing = cause instanceof Error && Reflect.get(cause, 'code') === 'MODULE_NOT_FOUND'
  return isMissing ? 'install @cedar-policy/cedar-wasm where the program runs' : messageOf(cause)
}
