import { hash } from 'node:crypto'
import type { JsonValue } from '@countersign/protocol'
import { canonicalBytes } from './canonical-json.js'

/** SHA-256 of text, in hex. */
export function sha256Hex(text: string): string {
  return hash('sha256', text, 'hex')
}

/** SHA-256 over the canonical JSON of a value, in hex. */
export function hashValue(value: JsonValue): string {
  return hash('sha256', canonicalBytes('', value), 'hex')
}

/** Salted, because the plain hash of a small value can be looked up. The length separates salt and value. */
export function saltedHash(salt: string, value: JsonValue): string {
  return hash('sha256', canonicalBytes(`${salt.length}:${salt}:`, value), 'hex')
}
