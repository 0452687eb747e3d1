import type { Steps } from '@countersign/engine'
import { LIMITS } from '@countersign/protocol'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const BRACKET = 0x5b
const BRACE = 0x7b
const END_BRACKET = 0x5d
const END_BRACE = 0x7d
const COLON = 0x3a

/**
 * What V8 takes for the text and its strings, for each object or array, and for each value in one. Of nine shapes of 4 MB
 * the text and its objects took 0.3 to 0.96 of it, the most where one object has 240,000 keys.
 */
const BYTES_PER_BYTE = 2
const BYTES_PER_CONTAINER = 56
const BYTES_PER_VALUE = 64

/** About three milliseconds. */
const BYTES_PER_STEP = 512 * 1024

export interface JsonMeasure {
  readonly values: number
  /** Of the object that has most. Where the nesting is too deep to be accepted, they are not added up. */
  readonly members: number
  /** About what they take in memory. */
  readonly bytes: number
}

/** What a JSON text is once it is parsed, without parsing it. */
export function* measureJson(text: Uint8Array): Steps<JsonMeasure> {
  let commas = 0
  let containers = 0
  let members = 0
  /** Of the object or list that is open at each depth. */
  const open = new Uint32Array(LIMITS.jsonDepth + 1)
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; ) {
    const end = Math.min(at + BYTES_PER_STEP, text.length)
    for (; at < end; at++) {
      const byte = text[at]
      if (isInString) {
        if (byte === BACKSLASH) at += 1
        else if (byte === QUOTE) isInString = false
      } else if (byte === QUOTE) isInString = true
      else if (byte === COMMA) commas += 1
      else if (byte === COLON) {
        const count = (open[depth] ?? 0) + 1
        open[depth] = count
        if (count > members) members = count
      } else if (byte === BRACE || byte === BRACKET) {
        containers += 1
        depth += 1
        open[depth] = 0
      } else if (byte === END_BRACE || byte === END_BRACKET) depth = Math.max(depth - 1, 0)
    }
    yield
  }
  return {
    values: 1 + commas + containers,
    members,
    bytes: text.length * BYTES_PER_BYTE + containers * BYTES_PER_CONTAINER + commas * BYTES_PER_VALUE,
  }
}
