import { type Invariant, type JsonValue, OPERATORS, type Operator } from '@countersign/protocol'
import { prepareOperator } from '../contract/operators.js'
import { canonicalJson } from '../json/canonical-json.js'
import { finder } from '../text/find-text.js'
import type { Comparison } from './comparison.js'
import { schemaImplies } from './schema-strength.js'

/** How a rule relates to the one it replaces: it lets less through, or more, or other things. */
export type Strength = 'same' | 'narrower' | 'wider' | 'different'

/** What two implications say together. What cannot be shown either way is `different`. */
export function strengthOf(newImpliesOld: boolean, oldImpliesNew: boolean): Strength {
  if (newImpliesOld) return oldImpliesNew ? 'same' : 'narrower'
  return oldImpliesNew ? 'wider' : 'different'
}

/** Compares all conditions on one path before and now. */
export function compareConditions(
  was: readonly Invariant[],
  is: readonly Invariant[],
  comparison: Comparison,
): Strength {
  const [old, next] = [read(was, comparison), read(is, comparison)]
  return strengthOf(allImplied(next, old, comparison), allImplied(old, next, comparison))
}

/** True if every value that passes `given` surely passes `wanted`. Both are conditions on the same path. */
export const conditionsImply = (
  given: readonly Invariant[],
  wanted: readonly Invariant[],
  comparison: Comparison,
): boolean => allImplied(read(given, comparison), read(wanted, comparison), comparison)

type Condition = readonly [Operator, JsonValue]

/** The conditions under a key that equal ones share. */
type Conditions = ReadonlyMap<string, Condition>

function read(invariants: readonly Invariant[], comparison: Comparison): Conditions {
  const found = new Map<string, Condition>()
  for (const invariant of invariants) {
    for (const condition of conditionsOf(invariant)) {
      found.set(`${condition[0]} ${comparison.numberOf(condition[1])}`, condition)
    }
  }
  return found
}

/** Conditions that `given` has itself are looked up; only others are compared with each of it. */
function allImplied(given: Conditions, wanted: Conditions, comparison: Comparison): boolean {
  const others = [...wanted].flatMap(([key, condition]) => (given.has(key) ? [] : [condition]))
  if (others.length === 0) return true
  const known = [...given.values()]
  return others.every((condition) => implied(known, condition, comparison))
}

const OPERATOR_NAMES: ReadonlySet<string> = new Set(OPERATORS)

function conditionsOf(invariant: Invariant): Condition[] {
  const found: Condition[] = []
  for (const [operator, operand] of Object.entries(invariant)) {
    if (!OPERATOR_NAMES.has(operator) || operand === undefined) continue
    found.push([operator as Operator, operand as JsonValue])
  }
  return found
}

function implied(known: readonly Condition[], wanted: Condition, comparison: Comparison): boolean {
  if (known.some((condition) => impliesByKind(condition, wanted, comparison))) return true
  const lists = known.flatMap(listedBy)
  const test = lists.length === 0 ? null : testOf(wanted)
  return test !== null && lists.some((values) => values.every(test))
}

/** A list of values is as narrow as what each of them passes; longer ones are compared as they are. */
const MOST_VALUES = 1_000

function listedBy([operator, operand]: Condition): (readonly JsonValue[])[] {
  const values = operator === 'equals' ? [operand] : operator === 'one_of' ? operand : null
  return Array.isArray(values) && values.length <= MOST_VALUES ? [values] : []
}

function testOf([wanted, bound]: Condition): ((value: JsonValue) => boolean) | null {
  if (wanted === 'schema') return null
  const prepared = prepareOperator(wanted, bound)
  return prepared.ok ? prepared.test : null
}

/** Whether the first, alone, implies the second, by what their operators mean. Equal ones are compared before. */
function impliesByKind([has, given]: Condition, [wants, bound]: Condition, comparison: Comparison): boolean {
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
      return excludes(has, given, wants === 'not_equals' ? [bound] : bound, comparison)
    case 'starts_with':
      return has === 'starts_with' && String(given).startsWith(String(bound))
    case 'ends_with':
      return has === 'ends_with' && String(given).endsWith(String(bound))
    case 'contains':
      return typeof bound === 'string' && PARTS.has(has) && typeof given === 'string' && finder(bound)(given)
    case 'schema':
      return has === 'schema' && schemaImplies(given, bound, comparison)
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

function excludes(has: Operator, given: JsonValue, wanted: JsonValue, comparison: Comparison): boolean {
  const excluded = has === 'not_equals' ? [given] : has === 'not_one_of' ? given : null
  if (!Array.isArray(excluded) || !Array.isArray(wanted) || excluded.length === 0) return false
  return comparison.allIn(wanted, excluded)
}

/** Equal as JSON; absent equals only absent. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b || a === undefined || b === undefined) return a === b
  return canonicalJson(a as JsonValue) === canonicalJson(b as JsonValue)
}
