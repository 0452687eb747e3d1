import type { Block, JsonObject } from '@countersign/protocol'
import { checkInvariants, findIn } from '../contract/check-invariant.js'
import type { Plan } from '../contract/plan.js'
import { JUDGING_STEPS, unlessTooCostly, withinJudgingBudget } from '../text/judging-budget.js'
import { correct } from './rules/invariants.js'
import { block } from './rules/rule.js'

/** The check right before a tool runs, on the arguments it runs with. */
export function checkExecution(plan: Plan, tool: string, args: JsonObject): Block | null {
  const contract = plan.contracts.get(tool)
  if (contract === undefined || contract.executionConstraints.length === 0) return null
  const failures = withinJudgingBudget(JUDGING_STEPS.whole, () =>
    unlessTooCostly(
      () => checkInvariants(contract.executionConstraints, findIn(args), (path) => path),
      ({ message }) => [{ path: '$', operator: 'steps', message }],
    ),
  )
  if (failures.length === 0) return null
  return block('execution_constraint_violated', contract, { remedy: correct(failures), failures })
}
