import type { Invariant, JsonValue, Operator } from '@countersign/protocol'
import { prepareOperator } from '../contract/operators.js'
import { canonicalJson } from '../json/canonical-json.js'
import { schemaImplies } from './schema-strength.js'

/** How a rule relates to the one it replaces: it lets less through, or more, or other things. */
export type Strength = 'same' | 'narrower' | 'wider' | 'different'

/** What two implications say together. What cannot be shown either way is `different`. */
export function strengthOf(newImpliesOld: boolean, oldImpliesNew: boolean): Strength {
  if (newImpliesOld) return oldImpliesNew ? 'same' : 'narrower'
  return oldImpliesNew ? 'wider' : 'different'
}

/** Compares all conditions on one path before and now. */
export const compareConditions = (was: readonly Invariant[], is: readonly Invariant[]): Strength =>
  strengthOf(conditionsImply(is, was), conditionsImply(was, is))

type Condition = readonly [Operator, JsonValue]

/** True if every value that passes `given` surely passes `wanted`. Both are conditions on the same path. */
export function conditionsImply(given: readonly Invariant[], wanted: readonly Invariant[]): boolean {
  const known = given.flatMap(conditionsOf)
  return wanted.flatMap(conditionsOf).every((condition) => implied(known, condition))
}

function conditionsOf({ path: _, message: __, ...operators }: Invariant): Condition[] {
  return (Object.entries(operators) as [Operator, JsonValue | undefined][]).flatMap(([operator, operand]) =>
    operand === undefined ? [] : [[operator, operand] as const],
  )
}

function implied(known: readonly Condition[], wanted: Condition): boolean {
  if (known.some((condition) => sameCondition(condition, wanted) || impliesByKind(condition, wanted))) return true
  return known.some((condition) => everyValuePasses(condition, wanted))
}

const sameCondition = (a: Condition, b: Condition): boolean => a[0] === b[0] && same(a[1], b[1])

/** A list of values is as narrow as what each of them passes; longer ones are compared as they are. */
const MOST_VALUES = 1_000

function everyValuePasses([operator, operand]: Condition, [wanted, bound]: Condition): boolean {
  const values = operator === 'equals' ? [operand] : operator === 'one_of' ? operand : null
  if (!Array.isArray(values) || values.length > MOST_VALUES || wanted === 'schema') return false
  const prepared = prepareOperator(wanted, bound)
  if (!prepared.ok || prepared.test === null) return false
  const { test } = prepared
  return values.every(test)
}

/** Whether the first, alone, implies the second, by what their operators mean. Equal ones are compared before. */
function impliesByKind([has, given]: Condition, [wants, bound]: Condition): boolean {
  switch (wants) {
    case 'exists':
      // Every condition but `exists: false` requires the value.
      return bound === true && !(has === 'exists' && given === false)
    case 'type':
      return bound === 'number'
        ? has === 'type'
          ? given === 'integer'
          : NUMERIC.has(has)
        : bound === 'string' && TEXTUAL.has(has)
    case 'lte':
    case 'lt':
      return isBelow(has, given, wants, bound)
    case 'gte':
    case 'gt':
      return isAbove(has, given, wants, bound)
    case 'length_lte':
      return has === 'length_lte' && Number(given) <= Number(bound)
    case 'length_gte':
      return has === 'length_gte' && Number(given) >= Number(bound)
    case 'not_equals':
    case 'not_one_of':
      return excludes(has, given, wants === 'not_equals' ? [bound] : bound)
    case 'starts_with':
      return has === 'starts_with' && String(given).startsWith(String(bound))
    case 'ends_with':
      return has === 'ends_with' && String(given).endsWith(String(bound))
    case 'contains':
      return typeof bound === 'string' && PARTS.has(has) && typeof given === 'string' && given.includes(bound)
    case 'schema':
      return has === 'schema' && schemaImplies(given, bound)
    default:
      return false
  }
}

const NUMERIC: ReadonlySet<Operator> = new Set(['gt', 'gte', 'lt', 'lte'])
const TEXTUAL: ReadonlySet<Operator> = new Set(['regex', 'not_regex', 'starts_with', 'ends_with'])
const PARTS: ReadonlySet<Operator> = new Set(['starts_with', 'ends_with'])

const isBelow = (has: Operator, given: JsonValue, wants: 'lte' | 'lt', bound: JsonValue): boolean =>
  (has === 'lt' && Number(given) <= Number(bound)) ||
  (has === 'lte' && (wants === 'lte' ? Number(given) <= Number(bound) : Number(given) < Number(bound)))

const isAbove = (has: Operator, given: JsonValue, wants: 'gte' | 'gt', bound: JsonValue): boolean =>
  (has === 'gt' && Number(given) >= Number(bound)) ||
  (has === 'gte' && (wants === 'gte' ? Number(given) >= Number(bound) : Number(given) > Number(bound)))

function excludes(has: Operator, given: JsonValue, wanted: JsonValue): boolean {
  const excluded = has === 'not_equals' ? [given] : has === 'not_one_of' ? given : null
  if (!Array.isArray(excluded) || !Array.isArray(wanted)) return false
  const known = new Set(excluded.map((value) => canonicalJson(value)))
  return wanted.every((value) => known.has(canonicalJson(value)))
}

/** Equal as JSON; absent equals only absent. */
export function same(a: unknown, b: unknown): boolean {
  if (a === undefined || b === undefined) return a === b
  return canonicalJson(a as JsonValue) === canonicalJson(b as JsonValue)
}
