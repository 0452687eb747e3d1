import type { Block, JsonObject } from '@countersign/protocol'
import { checkInvariants, findIn } from '../contract/check-invariant.js'
import type { Plan } from '../contract/plan.js'
import { correct } from './rules/invariants.js'
import { block } from './rules/rule.js'

/** The check right before a tool runs, on the arguments it runs with. */
export function checkExecution(plan: Plan, tool: string, args: JsonObject): Block | null {
  const contract = plan.contracts.get(tool)
  if (contract === undefined || contract.executionConstraints.length === 0) return null
  const failures = checkInvariants(contract.executionConstraints, findIn(args), (path) => path)
  if (failures.length === 0) return null
  return block('execution_constraint_violated', contract, { remedy: correct(failures), failures })
}
