import type { ContractFailure } from '@countersign/protocol'
import { checkInvariants, findIn } from '../contract/check-invariant.js'
import type { Plan, PreparedContract } from '../contract/plan.js'
import { applies, readsArgumentsOnly, sceneWithoutSession } from '../contract/when/condition.js'
import { type ReadResponse, readResponse } from '../response/read-response.js'
import { viewResponse } from '../response/response-view.js'
import type { ToolCall } from '../response/tool-call.js'
import { argumentFailures, contractFormatFailures, formatFailures, schemaFailures } from './rules/invariants.js'
import { argumentPath, quoted, shownFailure } from './rules/rule.js'

/** What `validate` found in one response. */
export interface ValidationResult {
  readonly pass: boolean
  readonly failures: ContractFailure[]
  /** How many contracts were applied. */
  readonly matched_contracts: number
  /** Tools that were called without a contract, each once. */
  readonly unmatched_tools: string[]
  readonly evaluation_ms: number
}

/**
 * Validates one response against the rules on responses and arguments. What depends on a session (order, budgets,
 * phases, bindings, labels, policies, rules with conditions on these) is not checked: there is no session here.
 */
export function validateResponse(
  response: unknown,
  plan: Plan,
  options: { readonly unmatched: 'deny' | 'allow' },
): Omit<ValidationResult, 'evaluation_ms'> {
  const read = readResponse(response)
  const failures: ContractFailure[] = read.problems.map((message) => ({ path: '$', operator: 'format', message }))
  const matched = new Map<string, PreparedContract>()
  const unmatched = new Set<string>()
  for (const call of read.calls) {
    const contract = plan.contracts.get(call.name)
    if (contract === undefined) {
      unmatched.add(call.name)
      failures.push(...formatFailures(call), ...(options.unmatched === 'deny' ? [unmatchedFailure(call)] : []))
    } else {
      matched.set(contract.tool, contract)
      failures.push(...inFile(contract, callFailures(call, contract)))
    }
  }
  for (const contract of matched.values()) failures.push(...inFile(contract, responseFailures(read, contract)))
  return {
    pass: failures.length === 0,
    failures: failures.map(shownFailure),
    matched_contracts: matched.size,
    unmatched_tools: [...unmatched],
  }
}

function unmatchedFailure(call: ToolCall): ContractFailure {
  return {
    path: `$.tool_calls[${call.index}].name`,
    operator: 'contract',
    expected: 'a tool with a contract',
    found: call.name,
    message: `no contract covers the tool ${quoted(call.name)}`,
  }
}

function callFailures(call: ToolCall, contract: PreparedContract): ContractFailure[] {
  const args = call.arguments
  if (args === null) return formatFailures(call)
  const scene = sceneWithoutSession(args)
  const argumentInvariants = contract.argumentInvariants.filter(
    (rule) => readsArgumentsOnly(rule) && applies(rule, scene),
  )
  return [
    ...schemaFailures(call, contract),
    ...argumentFailures(call, { argumentInvariants }),
    ...checkInvariants(contract.executionConstraints, findIn(args), (path) => argumentPath(call.index, path)),
  ]
}

function responseFailures(read: ReadResponse, contract: PreparedContract): ContractFailure[] {
  const outputs =
    contract.outputInvariants.length === 0
      ? []
      : checkInvariants(contract.outputInvariants, viewResponse(read), (path) => path)
  return [...contractFormatFailures(contract, read), ...outputs]
}

const inFile = ({ file }: PreparedContract, failures: readonly ContractFailure[]): ContractFailure[] =>
  failures.map((failure) => (file === undefined ? failure : { ...failure, contract_file: file }))
