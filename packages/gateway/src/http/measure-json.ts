import { LIMITS } from '@countersign/protocol'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const BRACKET = 0x5b
const BRACE = 0x7b
const [END_OF_BRACKET, END_OF_BRACE] = [0x5d, 0x7d]
const COLON = 0x3a
const DOT = 0x2e
const [ZERO, NINE] = [0x30, 0x39]

/** A number that no double holds takes ten times as long to read, and counts as ten. */
const MOST_DIGITS = 17
const VALUES_PER_LONG_NUMBER = 10

/**
 * What V8 takes for the text and its strings, for each object or array, and for each value in one. Of nine shapes of 4 MB
 * the text and its objects took 0.3 to 0.96 of it, the most where one object has 240,000 keys.
 */
const BYTES_PER_BYTE = 2
const BYTES_PER_CONTAINER = 56
const BYTES_PER_VALUE = 64

export interface JsonMeasure {
  /** How many it has; one that takes long to read counts as several. */
  readonly values: number
  /** How many different names its members have, counted up to one more than a body may have. */
  readonly names: number
  /** How many objects and lists stand in each other, at most. */
  readonly depth: number
  /** About what they take in memory. */
  readonly bytes: number
}

/** What a JSON text is once it is parsed, without parsing it. */
export function measureJson(text: Uint8Array): JsonMeasure {
  const buffer = Buffer.from(text.buffer, text.byteOffset, text.length)
  const names = new Set<string>()
  let commas = 0
  let containers = 0
  let open = 0
  let depth = 0
  let isInString = false
  let stringStart = 0
  let stringEnd = 0
  let digits = 0
  let longNumbers = 0
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] as number
    if (isInString) {
      if (byte === BACKSLASH) at += 1
      else if (byte === QUOTE) {
        isInString = false
        stringEnd = at
      }
    } else if (byte >= ZERO && byte <= NINE) {
      if (digits > 0 || byte !== ZERO) digits += 1
      if (digits === MOST_DIGITS + 1) longNumbers += 1
    } else if (byte !== DOT) {
      digits = 0
      if (byte === QUOTE) {
        isInString = true
        stringStart = at + 1
      } else if (byte === COMMA) commas += 1
      else if (byte === BRACE || byte === BRACKET) {
        containers += 1
        open += 1
        if (open > depth) depth = open
      } else if (byte === END_OF_BRACE || byte === END_OF_BRACKET) open -= 1
      else if (byte === COLON && names.size <= LIMITS.bodyNames)
        names.add(buffer.toString('latin1', stringStart, stringEnd))
    }
  }
  return {
    values: 1 + commas + containers + longNumbers * (VALUES_PER_LONG_NUMBER - 1),
    names: names.size,
    depth,
    bytes: text.length * BYTES_PER_BYTE + containers * BYTES_PER_CONTAINER + commas * BYTES_PER_VALUE,
  }
}
