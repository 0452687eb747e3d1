import type { JsonValue } from '@countersign/protocol'
import { OPERATORS, type Operator } from '../contract/operators.js'
import type { PreparedInvariant } from '../contract/plan.js'

/** Why no value can ever pass an invariant; null if one may. */
export function emptyRuleProblem(invariant: PreparedInvariant): string | null {
  const operands = new Map<string, JsonValue>(invariant.tests.map(({ operator, operand }) => [operator, operand]))
  return absenceProblem(invariant, operands) ?? rangeProblem(operands) ?? candidateProblem(invariant, operands)
}

function absenceProblem(invariant: PreparedInvariant, operands: ReadonlyMap<string, JsonValue>): string | null {
  if (operands.get('exists') !== false) return null
  if (operands.size === 1 && invariant.ref === null) return null
  return '`exists: false` contradicts a rule about the value'
}

function rangeProblem(operands: ReadonlyMap<string, JsonValue>): string | null {
  for (const [low, high, bothIncluded] of RANGES) {
    const from = operands.get(low)
    const to = operands.get(high)
    if (typeof from !== 'number' || typeof to !== 'number') continue
    if (from > to || (from === to && !bothIncluded))
      return `\`${low}: ${from}\` and \`${high}: ${to}\` contradict each other`
  }
  const type = operands.get('type')
  if (typeof type !== 'string') return null
  for (const [operator, { types }] of Object.entries<Operator>(OPERATORS)) {
    if (types !== undefined && operands.has(operator) && !types.includes(type))
      return `\`type: ${type}\` and \`${operator}\` contradict each other`
  }
  return null
}

/** If the rule lists the values itself, one of them must pass all its tests. */
function candidateProblem(invariant: PreparedInvariant, operands: ReadonlyMap<string, JsonValue>): string | null {
  const listed = operands.has('equals') ? [operands.get('equals')] : operands.get('one_of')
  if (!Array.isArray(listed)) return null
  const passesAll = (value: JsonValue | undefined) => invariant.tests.every(({ test }) => test(value))
  if (listed.some(passesAll)) return null
  return operands.has('equals')
    ? '`equals` names a value that the other operators reject'
    : '`one_of` names only values that the other operators reject'
}

const RANGES = [
  ['gt', 'lt', false],
  ['gt', 'lte', false],
  ['gte', 'lt', false],
  ['gte', 'lte', true],
  ['length_gte', 'length_lte', true],
] as const
