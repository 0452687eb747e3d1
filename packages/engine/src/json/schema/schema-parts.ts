import type { JsonValue } from '@countersign/protocol'

/** What compiling one schema may cost, in microseconds as measured: nothing else is done in the process meanwhile. */
const MAX_COST = 240_000
const COST_OF_PART = 200
/** Ajv nests the alternatives of a `oneOf` in one another. */
const COST_OF_ONE_OF_PAIR = 7

/** Says that a schema has too many parts to be compiled at once, or null. A part is a keyword, a property or a subschema. */
export function schemaPartsProblem(schema: JsonValue): string | null {
  const parts = partsOf(schema)
  const cost = parts.count * COST_OF_PART + parts.oneOfPairs * COST_OF_ONE_OF_PAIR
  if (cost <= MAX_COST) return null
  return `the JSON Schema is too large: it has ${parts.count} keywords, properties and subschemas, and about ${MAX_COST / COST_OF_PART} are the limit (fewer with a long oneOf). Leave out what need not be checked, or split the tool`
}

/** They say nothing about a value, or hold values and no schemas. */
const ANNOTATIONS: ReadonlySet<string> = new Set(['title', 'description', '$comment', '$id', '$schema', 'deprecated'])
const VALUES: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'required', 'type'])
/** What stands in these is named by the author: a property may be called `enum`. */
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
])

interface Parts {
  count: number
  oneOfPairs: number
}

function partsOf(schema: JsonValue, parts: Parts = { count: 0, oneOfPairs: 0 }, isNamed = false): Parts {
  if (typeof schema !== 'object' || schema === null) return parts
  parts.count += 1
  if (Array.isArray(schema)) {
    for (const item of schema) partsOf(item, parts)
    return parts
  }
  for (const [key, value] of Object.entries(schema)) {
    if (!isNamed && ANNOTATIONS.has(key)) continue
    parts.count += 1
    if (!isNamed && key === 'oneOf' && Array.isArray(value)) parts.oneOfPairs += value.length ** 2
    if (isNamed || !VALUES.has(key)) partsOf(value, parts, !isNamed && NAMED.has(key))
  }
  return parts
}
