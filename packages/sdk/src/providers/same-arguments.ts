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

/**
 * The text that a piece adds to those before it. Where it is a value instead, it is that value's JSON, which nothing may
 * be added to: the clients join it all the same, and a list of one text joins as the text that it holds.
 */
export function pieceText(piece: unknown): string {
  if (typeof piece === 'string') return piece
  return piece === undefined || piece === null ? '' : JSON.stringify(piece)
}
