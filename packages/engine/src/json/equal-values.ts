import type { JsonValue } from '@countersign/protocol'
import { spendOnJudging, spendOnText } from '../text/judging-budget.js'
import { countedKeys } from './look-up.js'

/** Equal as JSON values: numbers by value (1 equals 1.0), strings by code units, keys in any order. */
export function equalValues(a: JsonValue, b: JsonValue): boolean {
  if (isSame(a, b)) return true
  if (!isContainer(a) || !isContainer(b)) return false
  // Pairs still to compare, in a flat list: no nesting can overflow the stack.
  const open: JsonValue[] = [a, b]
  while (open.length > 0) {
    const right = open.pop() as JsonValue
    const left = open.pop() as JsonValue
    if (isSame(left, right)) continue
    if (!isContainer(left) || !isContainer(right)) return false
    if (Array.isArray(left) !== Array.isArray(right)) return false
    if (Array.isArray(left)) {
      const other = right as JsonValue[]
      if (left.length !== other.length) return false
      spendOnJudging(1 + left.length)
      for (let at = 0; at < left.length; at++) open.push(left[at] as JsonValue, other[at] as JsonValue)
      continue
    }
    const keys = countedKeys(left)
    spendOnJudging(1 + keys.length * 2)
    if (keys.length !== countedKeys(right).length) return false
    for (const key of keys) {
      if (!Object.hasOwn(right, key)) return false
      open.push(
        (left as Record<string, JsonValue>)[key] as JsonValue,
        (right as Record<string, JsonValue>)[key] as JsonValue,
      )
    }
  }
  return true
}

function isSame(a: JsonValue, b: JsonValue): boolean {
  if (typeof a === 'string' && typeof b === 'string' && a.length === b.length) spendOnText(a.length)
  return a === b
}

function isContainer(value: JsonValue): value is JsonValue[] | { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null
}
