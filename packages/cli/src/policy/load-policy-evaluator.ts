import { createPolicyEvaluator, type PolicyEvaluator } from '@countersign/engine'

/** Cedar, so that policies are checked as the service would. */
export async function loadPolicyEvaluator(): Promise<PolicyEvaluator> {
  return createPolicyEvaluator(await import('@cedar-policy/cedar-wasm/nodejs'))
}
