import type { JsonValue } from '@countersign/protocol'

/** Equal as JSON values: numbers by value (1 equals 1.0), strings by code units, keys in any order. */
export function equalValues(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true
  if (!isContainer(a) || !isContainer(b)) return false
  // Pairs still to compare, in a flat list: no nesting can overflow the stack.
  const open: JsonValue[] = [a, b]
  while (open.length > 0) {
    const right = open.pop() as JsonValue
    const left = open.pop() as JsonValue
    if (left === right) continue
    if (!isContainer(left) || !isContainer(right)) return false
    if (Array.isArray(left) !== Array.isArray(right)) return false
    if (Array.isArray(left)) {
      const other = right as JsonValue[]
      if (left.length !== other.length) return false
      for (let at = 0; at < left.length; at++) open.push(left[at] as JsonValue, other[at] as JsonValue)
      continue
    }
    const keys = Object.keys(left)
    if (keys.length !== Object.keys(right).length) return false
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

function isContainer(value: JsonValue): value is JsonValue[] | { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null
}
