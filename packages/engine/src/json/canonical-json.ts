import type { JsonValue } from '@countersign/protocol'

/**
 * The canonical text of a value (RFC 8785): keys sorted by UTF-16 units, numbers and strings as ECMAScript writes them.
 * Throws on what I-JSON cannot represent: a number that is not finite, half of a surrogate pair.
 */
export function canonicalJson(value: JsonValue): string {
  return canonicalBytes('', value).toString()
}

/**
 * The same in UTF-8 after a prefix; valid until the next call. Hashing needs bytes, and joining a few hundred strings
 * and encoding the result takes longer than everything else.
 */
export function canonicalBytes(prefix: string, value: JsonValue): Buffer {
  const length = writeValue(value, writeText(prefix, 0))
  if (length <= bytes.length) return bytes.subarray(0, length)
  const previous = bytes
  bytes = Buffer.allocUnsafeSlow(length)
  try {
    writeValue(value, writeText(prefix, 0))
    return bytes
  } finally {
    bytes = previous
  }
}

/** Enough for nearly everything: what is larger is written twice. */
const KEPT_BYTES = 1_048_576

/**
 * The output buffer. Every `write` below starts at an index and returns the one after what it wrote. Writes past the
 * end are dropped, so the last index says how much room the whole value needs.
 */
let bytes = Buffer.allocUnsafeSlow(KEPT_BYTES)

function writeValue(value: JsonValue, at: number): number {
  switch (typeof value) {
    case 'string':
      return writeString(value, at)
    case 'number':
      return writeNumber(value, at)
    case 'boolean':
      return writeText(value ? 'true' : 'false', at)
    case 'object':
      if (value === null) return writeText('null', at)
      return Array.isArray(value) ? writeArray(value, at) : writeObject(value, at)
    default:
      throw new TypeError(`a value of type ${typeof value} has no canonical form`)
  }
}

function writeNumber(value: number, at: number): number {
  if (!Number.isFinite(value)) throw new TypeError(`${value} has no canonical form`)
  return writeText(String(value), at)
}

function writeArray(items: readonly JsonValue[], at: number): number {
  let to = at
  bytes[to++] = OPEN_BRACKET
  for (let index = 0; index < items.length; index++) {
    if (index > 0) bytes[to++] = COMMA
    to = writeValue(items[index] as JsonValue, to)
  }
  bytes[to++] = CLOSE_BRACKET
  return to
}

function writeObject(object: { readonly [key: string]: JsonValue }, at: number): number {
  let to = at
  bytes[to++] = OPEN_BRACE
  const first = to
  for (const key of sortedKeys(object)) {
    const value = object[key]
    // Like JSON.stringify: an undefined property is left out.
    if (value === undefined) continue
    if (to > first) bytes[to++] = COMMA
    to = writeString(key, to)
    bytes[to++] = COLON
    to = writeValue(value, to)
  }
  bytes[to++] = CLOSE_BRACE
  return to
}

/** In the order of UTF-16 units, as `<` compares. For few keys this is faster than `sort`. */
function sortedKeys(object: object): string[] {
  const keys = Object.keys(object)
  if (keys.length > FEW_KEYS) return keys.sort()
  for (let at = 1; at < keys.length; at++) {
    const key = keys[at] as string
    let to = at
    for (; to > 0 && (keys[to - 1] as string) > key; to--) keys[to] = keys[to - 1] as string
    keys[to] = key
  }
  return keys
}

const FEW_KEYS = 24

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

const FIRST_PRINTED = 0x20
const LAST_PRINTED = 0x7e
/** Longer strings are faster with the runtime's own code. */
const SHORT_STRING = 256

/** Most strings are short and plain ASCII. */
function writeString(text: string, at: number): number {
  if (text.length > SHORT_STRING) return writeEscaped(text, at)
  const target = bytes
  let to = at
  target[to++] = QUOTE
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code < FIRST_PRINTED || code > LAST_PRINTED || code === QUOTE || code === BACKSLASH) {
      return writeEscaped(text, at)
    }
    target[to++] = code
  }
  target[to++] = QUOTE
  return to
}

function writeEscaped(text: string, at: number): number {
  if (!text.isWellFormed()) throw new TypeError('half of a surrogate pair has no canonical form')
  return writeText(JSON.stringify(text), at)
}

function writeText(text: string, at: number): number {
  if (text.length > SHORT_STRING) return writeEncoded(text, at)
  const target = bytes
  let to = at
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code > LAST_PRINTED) return writeEncoded(text, at)
    target[to++] = code
  }
  return to
}

function writeEncoded(text: string, at: number): number {
  if (at < bytes.length) bytes.write(text, at)
  return at + Buffer.byteLength(text)
}
