import type { Block, ContractFailure } from '@countersign/protocol'
import { checkInvariants, findIn } from '../../contract/check-invariant.js'
import type { PreparedContract } from '../../contract/plan.js'
import type { ReadResponse } from '../../response/read-response.js'
import type { ToolCall } from '../../response/tool-call.js'
import { cutText } from '../../text/cut-text.js'
import { argumentPath, argumentsAt, block, type CallContext, type Finding, type Rule } from './rule.js'
import { wasJudgedBefore } from './standing.js'

/** Checks the whole response, the form of the call, and what the contract requires of finish reason and content. */
export const responseFormat: Rule = (context) => {
  const whole = wholeFailures(context)
  const own = formatFailures(context.call)
  const demanded = wasJudgedBefore(context.standing)
    ? NONE
    : contractFormatFailures(context.contract, context.response.read)
  if (whole.length + own.length + demanded.length === 0) return null
  return wrongForm(context.contract, [...whole, ...own, ...demanded])
}

/** The block of a call that cannot be read. */
export const unreadable = (call: ToolCall, contract: PreparedContract | null): Block =>
  wrongForm(contract, formatFailures(call))

const wrongForm = (contract: PreparedContract | null, failures: readonly ContractFailure[]): Block =>
  block('response_format_invalid', contract, {
    remedy: `Answer again in the right form: ${messages(failures)}.`,
    failures,
  })

const NONE: ContractFailure[] = []

function wholeFailures({ response }: CallContext): ContractFailure[] {
  if (response.read.problems.length === 0 && !response.toolless) return NONE
  const failures = response.read.problems.map(
    (message): ContractFailure => ({ path: '$', operator: 'format', message }),
  )
  if (response.toolless) {
    const message = 'the request offered no tools, so the response must not contain calls'
    failures.push({ path: '$.tool_calls', operator: 'length_lte', expected: 0, message })
  }
  return failures
}

/** Why a call cannot be read at all. */
export function formatFailures(call: ToolCall): ContractFailure[] {
  if (call.problem === null) return NONE
  return [{ path: argumentsAt(call.index), operator: 'format', expected: 'a JSON object', message: call.problem }]
}

export function contractFormatFailures(contract: PreparedContract | null, read: ReadResponse): ContractFailure[] {
  const format = contract?.definition.response_format_invariants
  if (format === undefined) return NONE
  const { finishReason, content } = read
  const failures: ContractFailure[] = []
  const { finish_reason: named } = format
  const reasons = typeof named === 'string' ? [named] : named
  if (reasons !== undefined && (finishReason === null || !reasons.includes(finishReason))) {
    const message = `the finish reason must be ${reasons.join(' or ')}`
    failures.push({ path: '$.finish_reason', operator: 'one_of', expected: reasons, found: finishReason, message })
  }
  const isEmpty = content === null || content.trim() === ''
  if (format.content === 'empty' && !isEmpty) {
    const message = 'the response must not contain text besides the call'
    failures.push({ path: '$.content', operator: 'length_lte', expected: 0, found: content, message })
  }
  if (format.content === 'present' && isEmpty) {
    const message = 'the response must contain text besides the call'
    failures.push({ path: '$.content', operator: 'length_gte', expected: 1, found: content, message })
  }
  return failures
}

/** The request is checked at preflight; a failure blocks the calls of this contract's tool. */
export const inputInvariant: Rule = ({ contract, inputFailures, tool }) => {
  if (inputFailures.length === 0) return null
  const failures = inputFailures.filter(({ operator }) => operator !== 'ref')
  if (failures.length === 0) return null
  return block('input_invariant_failed', contract, {
    remedy: `"${tool}" is not available for this request (${places(failures)}). Go on without it.`,
    failures,
  })
}

export const argumentSchema: Rule = ({ call, contract }) => {
  const failures = contract === null ? NONE : schemaFailures(call, contract)
  if (failures.length === 0) return null
  return block('argument_value_mismatch', contract, {
    detail: 'arguments',
    remedy: correct(failures),
    rules: [],
    failures,
  })
}

export function schemaFailures(call: ToolCall, { argumentsSchema }: PreparedContract): ContractFailure[] {
  if (call.arguments === null || argumentsSchema === null) return NONE
  const problems = argumentsSchema.validate(call.arguments)
  if (problems.length === 0) return NONE
  return problems.map(({ path, keyword, expected, found, message }) => ({
    path: argumentPath(call.index, path),
    operator: keyword,
    expected,
    ...(keyword === 'required' ? {} : { found }),
    message,
  }))
}

export const argumentInvariants = ({ call, contract }: Pick<CallContext, 'call' | 'contract'>): Block | null => {
  const failures = contract === null ? NONE : argumentFailures(call, contract)
  if (contract === null || failures.length === 0) return null
  return block('argument_value_mismatch', contract, {
    remedy: correct(failures),
    ...ownersOf(call, contract),
    failures,
  })
}

/** The words of an invariant stand in its failures; the contract's are for those that have none. */
function ownersOf(
  call: ToolCall,
  { argumentInvariants, definition }: PreparedContract,
): Pick<Finding, 'rules' | 'isTold'> {
  const isSaid = definition.message !== undefined || argumentInvariants.some(({ because }) => because !== undefined)
  if (!isSaid || call.arguments === null) return {}
  const finder = findIn(call.arguments)
  const rules = argumentInvariants.filter((rule) => checkInvariants([rule], finder, (path) => path).length > 0)
  return { rules, isTold: rules.some(({ message }) => message !== undefined) }
}

export function argumentFailures(
  call: ToolCall,
  contract: Pick<PreparedContract, 'argumentInvariants'>,
): ContractFailure[] {
  if (call.arguments === null || contract.argumentInvariants.length === 0) return NONE
  return checkInvariants(contract.argumentInvariants, findIn(call.arguments), (path) => argumentPath(call.index, path))
}

export const outputInvariant: Rule = ({ contract, response, standing }) => {
  if (contract === null || contract.outputInvariants.length === 0 || wasJudgedBefore(standing)) return null
  const failures = response.outputFailures(contract)
  if (failures.length === 0) return null
  return block('output_invariant_failed', contract, { remedy: correct(failures), rules: [], failures })
}

/** A path can contain keys that the model made up. */
const SHOWN_PATH_LENGTH = 256

/** `Correct $.tool_calls[0].arguments.amount: must be a number of at most 500.` */
export function correct(failures: readonly ContractFailure[]): string {
  return `Correct ${failures
    .slice(0, 5)
    .map(({ path, message }) => `${cutText(path, SHOWN_PATH_LENGTH)}: ${message}`)
    .join('; ')}.`
}

const messages = (failures: readonly ContractFailure[]): string =>
  failures
    .slice(0, 5)
    .map(({ message }) => message)
    .join('; ')

const places = (failures: readonly ContractFailure[]): string =>
  failures
    .slice(0, 5)
    .map(({ path, message }) => `${cutText(path, SHOWN_PATH_LENGTH)} ${message}`)
    .join('; ')
