import { createPolicyEvaluator, type PolicyEvaluator } from '@countersign/engine'

let loading: Promise<PolicyEvaluator> | undefined

/** Cedar is loaded with the first plan that has a policy, and stays loaded. */
export function loadPolicyEvaluator(): Promise<PolicyEvaluator> {
  loading ??= import('@cedar-policy/cedar-wasm/nodejs').then(createPolicyEvaluator)
  return loading
}
