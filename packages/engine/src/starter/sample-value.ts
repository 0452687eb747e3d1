import type { JsonObject, JsonValue } from '@countersign/protocol'
import { lookUp, setEntry } from '../json/look-up.js'

/**
 * A value that a JSON Schema is likely to accept, from what it says itself: its example, its default, its list, or the
 * smallest value of its type. The caller checks it.
 */
export function sampleValue(schema: JsonValue | undefined, depth = 0): JsonValue {
  if (!isObject(schema) || depth > MAX_DEPTH) return 'text'
  if (Array.isArray(schema.examples) && schema.examples[0] !== undefined) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined && schema.default !== null) return schema.default
  if (Array.isArray(schema.enum) && schema.enum[0] !== undefined) return schema.enum[0]
  const branch = [schema.anyOf, schema.oneOf].find(Array.isArray)?.[0]
  if (branch !== undefined) return sampleValue(branch, depth + 1)
  const types = [schema.type].flat()
  if (types.includes('object') || isObject(schema.properties)) return sampleObject(schema, depth)
  if (types.includes('array')) {
    const least = typeof schema.minItems === 'number' ? Math.min(schema.minItems, MAX_ITEMS) : 0
    return Array.from({ length: least }, () => sampleValue(schema.items, depth + 1))
  }
  if (types.includes('integer') || types.includes('number')) return sampleNumber(schema)
  if (types.includes('boolean')) return true
  if (types.includes('null')) return null
  return sampleText(schema)
}

/** Few, because lists in lists multiply. */
const MAX_DEPTH = 6
const MAX_ITEMS = 3
const MAX_LENGTH = 1_000

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function sampleObject(schema: JsonObject, depth: number): JsonObject {
  const sample: JsonObject = {}
  const properties = isObject(schema.properties) ? schema.properties : {}
  for (const name of Array.isArray(schema.required) ? schema.required : []) {
    if (typeof name === 'string') setEntry(sample, name, sampleValue(lookUp(properties, name), depth + 1))
  }
  return sample
}

function sampleNumber({ minimum, exclusiveMinimum, maximum, multipleOf }: JsonObject): number {
  if (typeof multipleOf === 'number' && multipleOf > 0) return multipleOf
  if (typeof minimum === 'number') return minimum
  if (typeof exclusiveMinimum === 'number') return exclusiveMinimum + 1
  return typeof maximum === 'number' && maximum < 1 ? maximum : 1
}

function sampleText({ format, minLength, maxLength }: JsonObject): string {
  const known = typeof format === 'string' ? lookUp(FORMATS, format) : undefined
  if (known !== undefined) return known
  const least = typeof minLength === 'number' ? Math.min(minLength, MAX_LENGTH) : 0
  return 'text'.padEnd(least, '-').slice(0, typeof maxLength === 'number' ? maxLength : undefined)
}

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  time: '12:00:00Z',
  email: 'someone@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
}
