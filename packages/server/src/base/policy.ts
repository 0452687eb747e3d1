import { createRequire } from 'node:module'
import { createPolicyEvaluator, loadCedar, type PolicyEvaluator } from '@countersign/engine'

let evaluator: Promise<PolicyEvaluator> | undefined

/** Cedar is loaded with the first plan that has a policy; only an instance that trapped is replaced. */
export function loadPolicyEvaluator(): Promise<PolicyEvaluator> {
  const require = createRequire(import.meta.url)
  evaluator ??= Promise.resolve(createPolicyEvaluator(() => loadCedar(require)))
  return evaluator
}
