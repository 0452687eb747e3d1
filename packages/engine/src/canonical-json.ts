import type { JsonValue } from '@countersign/protocol'

/**
 * One text for one value (RFC 8785): keys sorted by their UTF-16 units, numbers and strings as ECMAScript writes them.
 * Throws on what I-JSON cannot write: a number that is not finite, half of a surrogate pair.
 */
export function canonicalJson(value: JsonValue): string {
  switch (typeof value) {
    case 'string':
      return quote(value)
    case 'number':
      if (!Number.isFinite(value)) throw new TypeError(`${value} has no canonical form`)
      return String(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      return Array.isArray(value) ? writeArray(value) : writeObject(value)
    default:
      throw new TypeError(`a value of type ${typeof value} has no canonical form`)
  }
}

function writeArray(items: readonly JsonValue[]): string {
  let text = '['
  for (let at = 0; at < items.length; at++) {
    if (at > 0) text += ','
    text += canonicalJson(items[at] as JsonValue)
  }
  return `${text}]`
}

function writeObject(object: { readonly [key: string]: JsonValue }): string {
  let text = '{'
  for (const key of sortedKeys(object)) {
    const value = object[key]
    // As JSON.stringify: an optional property that is not set is not there.
    if (value === undefined) continue
    if (text.length > 1) text += ','
    text += `${quote(key)}:${canonicalJson(value)}`
  }
  return `${text}}`
}

/** In the order of UTF-16 units, which is that of `<`. Few keys are put in order faster here than by `sort`. */
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

const FEW_KEYS = 16

/** What must be escaped or looked at; most strings have none of it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what JSON escapes
const SPECIAL = /["\\\u0000-\u001f\ud800-\udfff]/

function quote(text: string): string {
  if (!SPECIAL.test(text)) return `"${text}"`
  if (!text.isWellFormed()) throw new TypeError('half of a surrogate pair has no canonical form')
  return JSON.stringify(text)
}
