import {
  type Condition,
  type JsonValue,
  LIMITS,
  OPERATORS as OPERATOR_NAMES,
  type Operator,
} from '@countersign/protocol'
import { type CannotJudge, prepareOperator } from '../contract/operators.js'
import type { Conditional, ConditionTest, PreparedCondition } from '../contract/when/condition.js'
import { jsonTypeOf } from '../json/json-type.js'
import { contradictionIn } from './empty-rule.js'
import { preparePath } from './prepare-invariant.js'
import { fixForOperand } from './report/fixes.js'
import type { Report } from './report/problem.js'

/** Where the conditions of one rule stand. */
export interface WhenUse {
  readonly at: readonly (string | number)[]
  readonly report: Report
  /** Of checkpoints, which had conditions first: there a missing argument fails, and so does one of another type. */
  readonly isCheckpoint?: boolean
}

const NONE: readonly PreparedCondition[] = []

/** Compiles the conditions of one rule, and reports those that no call can meet. */
export function prepareWhen(when: readonly Condition[] | undefined, use: WhenUse): readonly PreparedCondition[] {
  if (when === undefined) return NONE
  if (when.length === 0 && use.isCheckpoint !== true) use.report(use.at, 'an empty condition always holds', 'remove it')
  const prepared = when.flatMap((condition, index) => {
    const one = prepareCondition(condition, { ...use, at: [...use.at, index] })
    return one === null ? [] : [one]
  })
  if (use.isCheckpoint !== true) reportContradictions(prepared, use)
  return prepared
}

/** When a rule applies, and what its owner says. */
export const conditional = (
  { when, message }: { readonly when?: readonly Condition[] | undefined; readonly message?: string | undefined },
  at: readonly (string | number)[],
  report: Report,
): Conditional => ({ when: prepareWhen(when, { at: [...at, 'when'], report }), message })

function prepareCondition(condition: Condition, use: WhenUse): PreparedCondition | null {
  const { path, label, bound, principal, key } = condition
  const refuse = (name: string, problem: string, fix: string): null => {
    use.report([...use.at, name], problem, fix)
    return null
  }
  if (condition.ref !== undefined) {
    return refuse('ref', '`ref` cannot be used in a condition', `write { bound: ${condition.ref} }`)
  }
  if (condition.message !== undefined && use.isCheckpoint !== true) {
    return refuse('message', 'a condition has no message: the rule has', 'write `message` beside `when`')
  }
  if (key !== undefined && bound === undefined) return refuse('key', '`key` belongs to `bound`', 'remove it')
  if (label !== undefined) {
    const other = operatorsOf(condition).find((operator) => operator !== 'exists')
    if (other !== undefined) return refuse(other, 'a label is there or not', 'use `exists`, or nothing')
    return { subject: 'label', label, exists: condition.exists ?? true }
  }
  if (bound !== undefined) return prepareBound(bound, condition, use)
  const subject = path === undefined ? 'principal' : 'path'
  const compiled = preparePath(path ?? principal ?? '$', [...use.at, subject], use.report)
  const tests = prepareTests(condition, use)
  if (compiled === null || tests === null) return null
  const isLenient = use.isCheckpoint === true && subject === 'path'
  const problem = isLenient ? contradictionIn(tests) : null
  if (problem !== null) {
    use.report(use.at, `no value can pass this rule: ${problem}`, 'remove or relax one of the operators')
    return null
  }
  const missing =
    condition.exists === false ? 'holds' : condition.exists === true || isLenient ? 'fails' : ('unknown' as const)
  return { subject, path: compiled, tests, missing }
}

const operatorsOf = (condition: Condition): Operator[] =>
  OPERATOR_NAMES.filter((operator) => condition[operator] !== undefined)

function prepareTests(condition: Condition, use: WhenUse): ConditionTest[] | null {
  const tests: ConditionTest[] = []
  for (const operator of operatorsOf(condition)) {
    const operand = condition[operator] as JsonValue
    const prepared = prepareOperator(operator, operand)
    if (!prepared.ok || prepared.test === null) {
      const problem = prepared.ok ? 'it cannot be used here' : prepared.problem
      use.report([...use.at, operator], problem, fixForOperand(operator))
      return null
    }
    const { test, cannotJudge } = prepared
    const isLenient = use.isCheckpoint === true && condition.path !== undefined
    const cannotCompare = isLenient ? cannotJudge : comparing(operator, operand, cannotJudge)
    tests.push({ operator, operand, test, cannotCompare })
  }
  return tests
}

const EQUALITIES: ReadonlySet<Operator> = new Set(['equals', 'not_equals', 'one_of', 'not_one_of'])

/** A value of another type than every operand is not compared with them, nor is a list with such an item. */
function comparing(operator: Operator, operand: JsonValue, cannotJudge: CannotJudge): CannotJudge {
  if (operator === 'contains') {
    const isOther = (item: JsonValue) => jsonTypeOf(item) !== jsonTypeOf(operand)
    return (found) => cannotJudge(found) || (Array.isArray(found) && found.some(isOther))
  }
  if (!EQUALITIES.has(operator)) return cannotJudge
  const types = new Set((operator.endsWith('one_of') ? (operand as JsonValue[]) : [operand]).map(jsonTypeOf))
  return (found) => !types.has(jsonTypeOf(found))
}

/** Of a bound value only a hash is kept, and itself only of numbers and booleans. */
const OF_BOUND: ReadonlySet<Operator> = new Set([...EQUALITIES, 'exists', 'gt', 'gte', 'lt', 'lte'])

function prepareBound(name: string, condition: Condition, use: WhenUse): PreparedCondition | null {
  for (const operator of operatorsOf(condition)) {
    if (OF_BOUND.has(operator)) continue
    const fix = 'use exists, equals, not_equals, one_of, not_one_of, gt, gte, lt or lte'
    use.report([...use.at, operator], 'of a bound value only a hash is kept', fix)
    return null
  }
  const tests = prepareTests(condition, use)
  const long = tests?.find(({ operand }) => Array.isArray(operand) && operand.length > LIMITS.valuesPerBoundCondition)
  if (long !== undefined) {
    const message = `a bound value is compared with at most ${LIMITS.valuesPerBoundCondition} values`
    use.report([...use.at, long.operator], message, 'split the list, or use gt, gte, lt, lte')
  }
  const path = condition.key === undefined ? null : preparePath(condition.key, [...use.at, 'key'], use.report, ONE_KEY)
  if (tests === null || (condition.key !== undefined && path === null)) return null
  return { subject: 'bound', name, key: path, tests }
}

const ONE_KEY = { singular: 'a key is a single one' }

/** Conditions about one value that no value can meet together. */
function reportContradictions(conditions: readonly PreparedCondition[], { at, report }: WhenUse): void {
  const seen = new Map<string, { tests: ConditionTest[]; labels: Set<boolean> }>()
  for (const condition of conditions) {
    const name = nameOf(condition)
    if (name === null) continue
    const known = seen.get(name) ?? { tests: [], labels: new Set<boolean>() }
    seen.set(name, known)
    if (condition.subject === 'label') known.labels.add(condition.exists)
    else known.tests.push(...(condition.tests as readonly ConditionTest[]))
  }
  for (const [name, { tests, labels }] of seen) {
    if (labels.size < 2 && contradictionIn(tests) === null) continue
    const message = `the conditions on ${name} can never hold together, so the rule would never apply`
    report(at, message, 'remove one')
  }
}

/** What a condition is about, for a sentence. Null: it may find several values, which may differ. */
function nameOf(condition: PreparedCondition): string | null {
  if (condition.subject === 'label') return `the label "${condition.label}"`
  if (condition.subject === 'bound') {
    return `the bound value "${condition.name}"${condition.key === null ? '' : ` for ${condition.key.expression}`}`
  }
  if (!condition.path.singular) return null
  return condition.subject === 'path' ? condition.path.expression : `the principal's ${condition.path.expression}`
}
