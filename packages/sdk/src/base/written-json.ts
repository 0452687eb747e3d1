import { parseStrictJson } from '@countersign/engine'
import type { JsonValue } from '@countersign/protocol'

/**
 * A value as JSON writes it; undefined when JSON cannot. Unlike arguments, which two readers could understand
 * differently, it is read from memory, so that large numbers, any keys and any depth are taken. A BigInt is its
 * digits, and half of a surrogate pair is U+FFFD, as it would be sent.
 */
export function writtenJson(value: unknown): JsonValue | undefined {
  if (value === undefined) return null
  try {
    const written = withDigits(value)
    if (written === undefined) return undefined
    return JSON.parse(withoutHalfPairs(written))
  } catch {
    return undefined
  }
}

/** JSON of the value with the digits of a BigInt. Few values hold one, and looking for it takes several times as long. */
function withDigits(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? String(item) : item))
  }
}

/** Undefined when it is no I-JSON, or JSON cannot write it. */
export function jsonOf(value: unknown): JsonValue | undefined {
  if (value === undefined) return null
  try {
    const written = JSON.stringify(value)
    if (written === undefined) return undefined
    const parsed = parseStrictJson(written)
    return parsed.ok ? parsed.value : undefined
  } catch {
    return undefined
  }
}

/** The JSON that JSON.stringify has written, with U+FFFD for each half of a surrogate pair. */
export function withoutHalfPairs(json: string): string {
  return json.includes('\\ud') ? json.replace(LONE_SURROGATE, '$1\\ufffd') : json
}

/** Also replaces the character NUL, so that the service can store every text. */
export function storableJson(json: string): string {
  const whole = withoutHalfPairs(json)
  return whole.includes('\\u0000') ? whole.replace(NUL, '$1\\ufffd') : whole
}

/** JSON.stringify escapes only halves of a pair so; an even number of backslashes before it would make it plain text. */
const LONE_SURROGATE = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g
const NUL = /(?<!\\)((?:\\\\)*)\\u0000/g
