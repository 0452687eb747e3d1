import type { PolicyEvaluator, PreparedPolicy } from '../contract/cedar.js'
import { policyCost, policyTextProblem } from '../contract/cedar-text.js'
import { addWeight, spendOnCompiling } from '../text/compile-budget.js'
import type { Steps } from '../text/steps.js'
import type { Report } from './problem.js'

/** Prepares a policy, if there is one. `argumentNames`: all arguments that the tool takes, if they are known. */
export type PreparePolicy = (
  text: string | undefined,
  report: Report,
  argumentNames: readonly string[] | null,
) => Steps<PreparedPolicy | null>

/** For the policies of one plan. One that many tools have is parsed once, so it counts once. */
export function policiesOfPlan(evaluator: PolicyEvaluator | undefined): PreparePolicy {
  const counted = new Set<string>()
  return function* prepare(text, report, argumentNames) {
    if (text === undefined || evaluator === undefined) return null
    // Cedar parses in one piece, which is a step of its own.
    yield
    const tooMuch = counted.has(text) ? null : spendOnPolicy(text)
    counted.add(text)
    const problems = tooMuch === null ? evaluator.check(text, argumentNames) : [tooMuch]
    if (problems.length === 0) return evaluator.prepare(text)
    report(['policy', 'cedar'], `the policy cannot be used: ${problems.join('; ')}`, 'correct the Cedar policy')
    return null
  }
}

/** Null, or why the policy is too much for the plan. */
function spendOnPolicy(text: string): string | null {
  // It never gets to Cedar.
  if (policyTextProblem(text) !== null) return null
  const { microseconds, bytes } = policyCost(text)
  addWeight(bytes)
  return spendOnCompiling(microseconds)
}
