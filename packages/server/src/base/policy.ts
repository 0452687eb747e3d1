import { createRequire } from 'node:module'
import { createPolicyEvaluator, loadCedar, type PolicyEvaluator } from '@countersign/engine'

let evaluator: PolicyEvaluator | undefined

/** Cedar is loaded once; only an instance that trapped is replaced. */
export async function loadPolicyEvaluator(): Promise<PolicyEvaluator> {
  const require = createRequire(import.meta.url)
  evaluator ??= createPolicyEvaluator(() => loadCedar(require))
  return evaluator
}

/** What the policies that Cedar has parsed for this thread take. */
export const policyBytes = (): number => evaluator?.keptBytes() ?? 0

/** The runtime compiles Cedar with its first question, for a fifth of a second. At the start, nothing waits for it. */
export async function warmPolicies(): Promise<void> {
  const evaluator = await loadPolicyEvaluator()
  const policy = evaluator.prepare('permit(principal, action, resource) when { context.arguments.amount < 1 };')
  // What reading a wrong one takes is compiled as well.
  evaluator.check('permit(principal, action, resource) when { [{ a: unknown(1) }] == 1 };')
  policy.decide({ principal: 'none', tool: 'none', agent: 'none', arguments: { amount: 0 }, atMs: 0 })
}
