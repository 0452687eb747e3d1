import { type Invariant, type JsonValue, OPERATORS as OPERATOR_NAMES } from '@countersign/protocol'
import { prepareOperator } from '../contract/operators.js'
import type { PreparedInvariant } from '../contract/plan.js'
import { type CompiledPath, compilePath } from '../json/json-path.js'
import { emptyRuleProblem } from './empty-rule.js'
import { FIXES, fixForOperand } from './report/fixes.js'
import type { Report } from './report/problem.js'

export interface InvariantUse {
  readonly at: readonly (string | number)[]
  readonly report: Report
  /** False if the check runs without a session and its bindings. */
  readonly allowsRef: boolean
}

/** Compiles one `{ path, operator: operand, … }`. Null if a problem was reported. */
export function prepareInvariant(invariant: Invariant, use: InvariantUse): PreparedInvariant | null {
  const path = preparePath(invariant.path, [...use.at, 'path'], use.report)
  const tests: PreparedInvariant['tests'][number][] = []
  let sound = path !== null
  for (const operator of OPERATOR_NAMES) {
    const operand = invariant[operator] as JsonValue | undefined
    if (operand === undefined || operator === 'ref') continue
    const prepared = prepareOperator(operator, operand)
    if (!prepared.ok) {
      use.report([...use.at, operator], prepared.problem, fixForOperand(operator))
      sound = false
    } else if (prepared.test !== null)
      tests.push({ operator, operand, test: prepared.test, cannotJudge: prepared.cannotJudge })
  }
  if (invariant.ref !== undefined && !use.allowsRef) {
    const fix = 'use `refs`, or put `ref` into an input, output or argument value invariant'
    use.report([...use.at, 'ref'], '`ref` cannot be used here: this check runs outside the session', fix)
    sound = false
  }
  if (!sound || path === null) return null
  const prepared: PreparedInvariant = {
    path,
    tests,
    ref: invariant.ref ?? null,
    message: invariant.message,
  }
  const problem = emptyRuleProblem(prepared)
  if (problem === null) return prepared
  use.report(use.at, `no value can pass this rule: ${problem}`, 'remove or relax one of the operators')
  return null
}

export function prepareInvariants(list: readonly Invariant[] | undefined, use: InvariantUse): PreparedInvariant[] {
  const prepared: PreparedInvariant[] = []
  for (const [index, item] of (list ?? []).entries()) {
    const invariant = prepareInvariant(item, { ...use, at: [...use.at, index] })
    if (invariant !== null) prepared.push(invariant)
  }
  return prepared
}

export function preparePath(
  expression: string,
  at: readonly (string | number)[],
  report: Report,
  options: { singular?: string } = {},
): CompiledPath | null {
  const compiled = compilePath(expression)
  if (!compiled.ok) {
    report(at, compiled.problem, FIXES.path)
    return null
  }
  if (options.singular !== undefined && !compiled.path.singular) {
    report(at, `the path can match several values, but ${options.singular}`, FIXES.singular_path)
    return null
  }
  return compiled.path
}
