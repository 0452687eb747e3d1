import { createPolicyEvaluator, type PolicyEvaluator } from '@countersign/engine'

/** Cedar, so that policies are evaluated as on the server. */
export async function loadPolicyEvaluator(): Promise<PolicyEvaluator> {
  return createPolicyEvaluator(await import('@cedar-policy/cedar-wasm/nodejs'))
}
