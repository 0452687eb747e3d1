/** Of a list or an object with nothing in it, of one member of either, and of a string with nothing in it. */
const NESTED_BYTES = 32
const MEMBER_BYTES = 16
const STRING_BYTES = 16
/** A string with one character beyond Latin-1 takes two bytes for each. */
const CHARACTER_BYTES = 2

/**
 * About what plain data takes in memory. Every proposal is noted, so nothing is written out to measure it; a body is
 * not deep (`LIMITS.jsonDepth`).
 */
export function heldBytes(value: unknown): number {
  if (typeof value === 'string') return MEMBER_BYTES + STRING_BYTES + CHARACTER_BYTES * value.length
  if (typeof value !== 'object' || value === null) return MEMBER_BYTES
  let bytes = MEMBER_BYTES + NESTED_BYTES
  if (Array.isArray(value)) {
    for (const item of value) bytes += heldBytes(item)
    return bytes
  }
  for (const name of Object.keys(value)) {
    bytes += CHARACTER_BYTES * name.length + heldBytes((value as Record<string, unknown>)[name])
  }
  return bytes
}
