import type { JsonValue } from '@countersign/protocol'

export type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object'

export function jsonTypeOf(value: JsonValue): JsonType {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : (typeof value as JsonType)
}
