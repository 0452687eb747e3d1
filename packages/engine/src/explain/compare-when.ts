import type { Condition, Invariant, JsonValue, Operator } from '@countersign/protocol'
import { OPERATORS, type Operator as OperatorRow } from '../contract/operators.js'
import type { Comparison } from './comparison.js'
import { conditionsImply, type Strength, strengthOf } from './rule-strength.js'

interface MayApply {
  readonly when?: readonly Condition[] | undefined
  readonly message?: string | undefined
}

/** A rule that is as strict and applies wherever the old one did is narrower, and so on. */
export function compareConditional<Rule extends MayApply>(
  was: Rule,
  is: Rule,
  comparison: Comparison,
  compare: (was: Rule, is: Rule) => Strength,
): Strength {
  const rest = compare(was, is)
  const isAsStrict = (strict: Strength) => rest === 'same' || rest === strict
  const strength = strengthOf(
    isAsStrict('narrower') && appliesWherever(is.when, was.when, comparison),
    isAsStrict('wider') && appliesWherever(was.when, is.when, comparison),
  )
  return strength === 'same' && was.message !== is.message ? 'different' : strength
}

/** A rule without what says when it applies. */
export const bare = ({ when: _, message: __, ...rest }: MayApply): object => rest

type When = MayApply['when']

/** True if the conditions of `given` surely do not fail wherever those of `wanted` do not. */
export const appliesWherever = (given: When = [], wanted: When = [], comparison: Comparison): boolean =>
  given.every((condition) => wanted.some((other) => keepsFrom(other, condition, comparison)))

/** What fails decides where a rule applies: `exists`, and with which types an operand can be compared. */
function keepsFrom(has: Condition, wants: Condition, comparison: Comparison): boolean {
  if (comparison.same(has, wants)) return true
  if (has.label !== undefined || wants.label !== undefined || subjectOf(has) !== subjectOf(wants)) return false
  if (wants.exists === true && has.exists !== true) return false
  const types = typesOf(has)
  if (![...typesOf(wants)].every((type) => types.has(type) || types.has(ANY))) return false
  return conditionsImply([has as Invariant], [wants as Invariant], comparison)
}

export const subjectOf = ({ path, principal, bound, key }: Condition): string =>
  JSON.stringify([path ?? null, principal ?? null, bound ?? null, key ?? null])

const ANY = 'any'

/** The types of values that the operators can compare. */
function typesOf(condition: Condition): Set<string> {
  const found = new Set<string>()
  for (const [operator, { types }] of Object.entries(OPERATORS) as [Operator, OperatorRow][]) {
    const operand = condition[operator] as JsonValue | undefined
    if (operand === undefined || operator === 'exists') continue
    const own = types ?? (operator.endsWith('equals') ? [operand] : operator.endsWith('one_of') ? operand : null)
    if (types !== undefined) for (const type of types) found.add(type)
    else if (Array.isArray(own)) for (const value of own as JsonValue[]) found.add(typeName(value))
    else found.add(ANY)
  }
  return found
}

const typeName = (value: JsonValue): string => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value)
