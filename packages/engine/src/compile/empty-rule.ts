import type { JsonValue } from '@countersign/protocol'
import { OPERATORS, type Operator, type OperatorName, type OperatorTest } from '../contract/operators.js'
import type { PreparedInvariant } from '../contract/plan.js'

interface Test {
  readonly operator: OperatorName
  readonly operand: JsonValue
  readonly test?: OperatorTest
}

/** Why no value can ever pass an invariant; null if one may. */
export const emptyRuleProblem = ({ tests, ref }: PreparedInvariant): string | null => contradictionIn(tests, ref)

/** Why no value can ever pass all of these tests, of which several may have one operator; null if one may. */
export function contradictionIn(tests: readonly Test[], ref: string | null = null): string | null {
  return absenceProblem(tests, ref) ?? rangeProblem(tests) ?? candidateProblem(tests)
}

const operandsOf = (tests: readonly Test[], name: string): JsonValue[] =>
  tests.flatMap(({ operator, operand }) => (operator === name ? [operand] : []))

function absenceProblem(tests: readonly Test[], ref: string | null): string | null {
  const isAbsence = ({ operator, operand }: Test) => operator === 'exists' && operand === false
  if (!tests.some(isAbsence)) return null
  return tests.every(isAbsence) && ref === null ? null : '`exists: false` contradicts a rule about the value'
}

function rangeProblem(tests: readonly Test[]): string | null {
  const numbers = (name: string) => operandsOf(tests, name).filter((operand) => typeof operand === 'number')
  for (const [low, high, bothIncluded] of RANGES) {
    const from = Math.max(...numbers(low))
    const to = Math.min(...numbers(high))
    if (from > to || (from === to && !bothIncluded))
      return `\`${low}: ${from}\` and \`${high}: ${to}\` contradict each other`
  }
  for (const type of operandsOf(tests, 'type').map(String)) {
    for (const [operator, { types }] of Object.entries<Operator>(OPERATORS)) {
      if (types !== undefined && operandsOf(tests, operator).length > 0 && !types.includes(type))
        return `\`type: ${type}\` and \`${operator}\` contradict each other`
    }
  }
  return null
}

/** If the rule lists the values itself, one of them must pass all its tests. */
function candidateProblem(tests: readonly Test[]): string | null {
  for (const { operator, operand } of tests) {
    const listed = operator === 'equals' ? [operand] : operator === 'one_of' ? operand : null
    if (!Array.isArray(listed)) continue
    if (listed.some((value) => tests.every(({ test }) => test === undefined || test(value)))) continue
    return operator === 'equals'
      ? '`equals` names a value that the other operators reject'
      : '`one_of` names only values that the other operators reject'
  }
  return null
}

const RANGES = [
  ['gt', 'lt', false],
  ['gt', 'lte', false],
  ['gte', 'lt', false],
  ['gte', 'lte', true],
  ['length_gte', 'length_lte', true],
] as const
