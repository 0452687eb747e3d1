import { equalValues, parseStrictJson } from '@countersign/engine'
import type { JsonValue } from '@countersign/protocol'

/** Whether two texts, or values, are the same arguments: spaces say nothing, and no text is no argument. */
export function sameArguments(one: unknown, other: unknown): boolean {
  return one === other || sameValues(meant(one), meant(other))
}

/** Equal as JSON. Both come from events, which were JSON. */
export function sameValues(one: unknown, other: unknown): boolean {
  return equalValues(one as JsonValue, other as JsonValue)
}

/** A text that is no strict JSON is the same only as itself. */
function meant(args: unknown): unknown {
  if (typeof args !== 'string') return args
  const parsed = parseStrictJson(args === '' ? '{}' : args)
  return parsed.ok ? parsed.value : args
}
