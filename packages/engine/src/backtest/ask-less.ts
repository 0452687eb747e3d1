import { type Condition, type JsonObject, OPERATORS } from '@countersign/protocol'
import { describeCondition } from '../explain/condition-words.js'
import { compilePath } from '../json/json-path.js'
import { parseYaml } from '../text/parse-yaml.js'

/** A call that a checkpoint asked about, and what people said. */
export interface DecidedCall {
  readonly arguments: JsonObject
  readonly approved: boolean
}

/** A contract whose checkpoint asks about less. */
export interface AsksLess {
  readonly text: string
  /** The condition in words, before and after. */
  readonly was: string
  readonly is: string
  /** How many of the decided calls it would have asked about; all that were denied are among them. */
  readonly stillAsked: number
}

/**
 * Moves one bound of a checkpoint to the furthest number that people have approved, so that it still asks about every call
 * that they denied. Otherwise why that cannot be done.
 */
export function askLess(
  { file, text }: { readonly file: string; readonly text: string },
  checkpointAt: number,
  decided: readonly DecidedCall[],
): AsksLess | { readonly problem: string } {
  const document = parseYaml(text, {})
  const contract = document?.toJS() as JsonObject | undefined
  const written = contract?.checkpoint
  const checkpoint = [written].flat()[checkpointAt] as JsonObject | undefined
  if (document === null || contract === undefined || checkpoint === undefined)
    return { problem: 'the plan in force no longer has this checkpoint' }
  const conditions = [checkpoint.when ?? []].flat() as Condition[]
  const bounds = conditions.flatMap((condition, at) => boundOf(condition, at) ?? [])
  if (bounds.length === 0)
    return { problem: 'none of its conditions compares one number with a bound: change the rule by hand' }
  const moved = bounds
    .flatMap((bound) => movedBound(bound, decided) ?? [])
    .sort((a, b) => a.stillAsked - b.stillAsked)[0]
  if (moved === undefined)
    return {
      problem: 'no bound would ask about fewer of the calls that people decided, and still about all that they denied',
    }
  const { bound, number, stillAsked } = moved
  const before = conditions[bound.at] ?? {}
  const { [bound.operator]: _, ...rest } = before
  const after: Condition = { ...rest, [bound.rises ? 'gt' : 'lt']: number }
  const place = [
    'checkpoint',
    ...(Array.isArray(written) ? [checkpointAt] : []),
    'when',
    ...(Array.isArray(checkpoint.when) ? [bound.at] : []),
  ]
  document.setIn(place, document.createNode(after))
  return {
    text: file.endsWith('.json')
      ? `${JSON.stringify(document.toJS(), null, 2)}\n`
      : document.toString({ lineWidth: 120 }),
    was: describeCondition(before),
    is: describeCondition(after),
    stillAsked,
  }
}

/** A condition that asks from a number on. */
interface Bound {
  readonly at: number
  readonly operator: 'gt' | 'gte' | 'lt' | 'lte'
  readonly number: number
  /** It asks about what is above. */
  readonly rises: boolean
  /** The value that decides whether it asks. Null: one that is no number, so that it asks wherever the bound is. */
  valueIn(call: JsonObject): number | null
}

function boundOf(condition: Condition, at: number): Bound | null {
  const operators = OPERATORS.filter((operator) => condition[operator] !== undefined)
  const operator = (['gt', 'gte', 'lt', 'lte'] as const).find((one) => condition[one] !== undefined)
  const compiled = condition.path === undefined ? null : compilePath(condition.path)
  const number = operator === undefined ? undefined : condition[operator]
  if (operators.length !== 1 || operator === undefined || number === undefined || !compiled?.ok) return null
  const { path } = compiled
  const rises = operator === 'gt' || operator === 'gte'
  const valueIn = (call: JsonObject) => {
    const found = path.find(call)
    const numbers = found.filter((value) => typeof value === 'number')
    // One value of many is enough to ask.
    return found.length === 0 || numbers.length < found.length
      ? null
      : rises
        ? Math.max(...numbers)
        : Math.min(...numbers)
  }
  return { at, operator, number, rises, valueIn }
}

/** As far as people have approved, and not as far as they have denied. Null: that is no further than it is. */
function movedBound(
  bound: Bound,
  decided: readonly DecidedCall[],
): { readonly bound: Bound; readonly number: number; readonly stillAsked: number } | null {
  const sign = bound.rises ? 1 : -1
  const numbers = (approved: boolean) =>
    decided.flatMap((one) => {
      const value = bound.valueIn(one.arguments)
      return one.approved !== approved || value === null ? [] : [value * sign]
    })
  const denied = Math.min(...numbers(false))
  const number = Math.max(...numbers(true).filter((value) => value < denied))
  if (!Number.isFinite(number) || number < bound.number * sign) return null
  const isSpared = ({ arguments: given }: DecidedCall) => {
    const value = bound.valueIn(given)
    return value !== null && value * sign <= number
  }
  const stillAsked = decided.filter((one) => !isSpared(one)).length
  return stillAsked === decided.length ? null : { bound, number: number * sign, stillAsked }
}
