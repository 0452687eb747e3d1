import type { JsonValue } from '@countersign/protocol'
import canonicalize from 'canonicalize'

/** One text for one value (RFC 8785): keys sorted, numbers and strings written in one way. */
export function canonicalJson(value: JsonValue): string {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('only a JSON value has a canonical form')
  return text
}
