import { isAddress, kindOf } from './value-kind.js'

/** The path of a child in a generalised path, as JSONPath. A key that cannot be written plainly becomes `*`. */
export function childPath(path: string, key: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(key)) return `${path}.${key}`
  return PLAIN_KEY.test(key) ? `${path}['${key}']` : `${path}.*`
}

/** No quotes, escapes or controls, and no half of a surrogate pair. */
const PLAIN_KEY = /^[^'"\\\p{C}\p{Zl}\p{Zp}]{1,64}$/u

const MAX_FIELDS = 64
const FIELD_NAME = /^[A-Za-z_$@][A-Za-z0-9_$@.-]{0,47}$/
const LABEL_NAME = /^\p{L}[\p{L}\d_-]{0,23}( [\p{L}\d_-]{1,23}){0,2}$/u
const RECORD_KINDS = 3

/**
 * Whether the keys of an object were chosen by a programmer. Field names are short, without spaces, with few digits,
 * and no addresses. One odd key makes all of them data, and so do capitalised keys over values of one type (such as a map from people to
 * numbers). Labels of several words count as names if the values are of several kinds, as in a record.
 */
export function keysAreNames(entries: readonly (readonly [string, unknown])[]): boolean {
  if (entries.length > MAX_FIELDS) return false
  if (entries.some(([key]) => key.replaceAll(/\D/g, '').length > 2 || isAddressKey(key))) return false
  const plain = entries.every(([key]) => FIELD_NAME.test(key))
  const oneType = new Set(entries.map(([, value]) => typeof value)).size === 1
  const capitals = entries.length > 1 && entries.every(([key]) => /^\p{Lu}/u.test(key))
  if (plain && !(oneType && capitals)) return true
  return entries.every(([key]) => LABEL_NAME.test(key)) && kindsAmong(entries) >= RECORD_KINDS
}

/** Few keys have one of these characters, and most addresses look like a field name otherwise. */
const isAddressKey = (key: string): boolean => /[@./]/.test(key) && isAddress(kindOf(key))

function kindsAmong(entries: readonly (readonly [string, unknown])[]): number {
  const kinds = entries.map(([, value]) =>
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? kindOf(value) : 'structure',
  )
  return new Set(kinds).size
}
