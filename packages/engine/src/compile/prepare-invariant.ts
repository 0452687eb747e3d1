import { type Invariant, type JsonValue, OPERATORS as OPERATOR_NAMES } from '@countersign/protocol'
import { prepareOperator } from '../contract/operators.js'
import type { PreparedInvariant } from '../contract/plan.js'
import { type CompiledPath, compilePath } from '../json/json-path.js'
import { emptyRuleProblem } from './empty-rule.js'
import type { Report } from './problem.js'

export interface InvariantUse {
  readonly at: readonly (string | number)[]
  readonly report: Report
  /** False where no session is at hand that could hold a binding. */
  readonly allowsRef: boolean
}

/** Compiles one `{ path, operator: operand, … }`. Null when a problem was reported. */
export function prepareInvariant(invariant: Invariant, use: InvariantUse): PreparedInvariant | null {
  const path = preparePath(invariant.path, [...use.at, 'path'], use.report)
  const tests: PreparedInvariant['tests'][number][] = []
  let sound = path !== null
  for (const operator of OPERATOR_NAMES) {
    const operand = invariant[operator] as JsonValue | undefined
    if (operand === undefined || operator === 'ref') continue
    const prepared = prepareOperator(operator, operand)
    if (!prepared.ok) {
      use.report([...use.at, operator], prepared.problem, MENDS[operator] ?? 'correct the operand')
      sound = false
    } else if (prepared.test !== null)
      tests.push({ operator, operand, test: prepared.test, isBeyond: prepared.isBeyond })
  }
  if (invariant.ref !== undefined && !use.allowsRef) {
    const mend = 'use `refs`, or a `ref` among the input, output or argument value invariants'
    use.report([...use.at, 'ref'], 'no binding can be compared here: the check runs without the session', mend)
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
  use.report(use.at, `no value can pass this rule: ${problem}`, 'remove or widen one of the operators')
  return null
}

export function prepareInvariants(list: readonly Invariant[] | undefined, use: InvariantUse): PreparedInvariant[] {
  const prepared = (list ?? []).map((item, index) => prepareInvariant(item, { ...use, at: [...use.at, index] }))
  return prepared.filter((item) => item !== null)
}

export function preparePath(
  expression: string,
  at: readonly (string | number)[],
  report: Report,
  options: { singular?: string } = {},
): CompiledPath | null {
  const compiled = compilePath(expression)
  if (!compiled.ok) {
    report(at, compiled.problem, 'write an RFC 9535 path such as $.order.id or $.items[*].price')
    return null
  }
  if (options.singular !== undefined && !compiled.path.singular) {
    report(
      at,
      `the path can find several values, and ${options.singular}`,
      'use names and indices only, such as $.items[0].id',
    )
    return null
  }
  return compiled.path
}

const MENDS: Partial<Record<string, string>> = {
  regex: 'write it in RE2 syntax: no look-around, no backreferences, bounded repeats',
  not_regex: 'write it in RE2 syntax: no look-around, no backreferences, bounded repeats',
  schema: 'write JSON Schema 2020-12 without remote references, with RE2 patterns',
}
