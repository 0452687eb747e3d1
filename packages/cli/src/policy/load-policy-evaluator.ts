import { createRequire } from 'node:module'
import { createPolicyEvaluator, loadCedar, type PolicyEvaluator } from '@countersign/engine'

/** Cedar, so that policies are evaluated as on the server. */
export async function loadPolicyEvaluator(): Promise<PolicyEvaluator> {
  const require = createRequire(import.meta.url)
  return createPolicyEvaluator(() => loadCedar(require))
}
