import type { JsonValue } from '@countersign/protocol'
import type { Comparison } from './comparison.js'

/** Deeper than a schema that people write; beyond it nothing is shown, and a change is called a change. */
const MOST_DEPTH = 16

/**
 * True if every value that is valid against `given` is surely valid against `wanted`. Keyword by keyword: what it
 * cannot show is false, so that a change is never called harmless by mistake.
 */
export function schemaImplies(given: JsonValue, wanted: JsonValue, comparison: Comparison, depth = 0): boolean {
  if (given === false || wanted === true || comparison.same(given, wanted)) return true
  if (depth > MOST_DEPTH || wanted === false) return false
  const has = given === true ? {} : given
  if (!isObject(has) || !isObject(wanted)) return false
  return Object.entries(wanted).every(([keyword, operand]) => {
    if (ANNOTATIONS.has(keyword)) return true
    if (has[keyword] !== undefined && comparison.same(has[keyword], operand)) {
      // These two read other keywords beside them, which may differ.
      if (keyword !== 'additionalProperties' && keyword !== 'properties') return true
    }
    return impliesKeyword(has, keyword, operand, { wanted, depth, comparison })
  })
}

interface Around {
  readonly wanted: Readonly<Record<string, JsonValue>>
  readonly depth: number
  readonly comparison: Comparison
}

type Schema = Readonly<Record<string, JsonValue>>

function impliesKeyword(has: Schema, keyword: string, operand: JsonValue, around: Around): boolean {
  const { depth, comparison } = around
  switch (keyword) {
    case 'type':
      return allowsTypes(operand, typesOf(has))
    case 'enum':
      return allListed(valuesOf(has), operand, comparison)
    case 'const':
      return allListed(valuesOf(has), [operand], comparison)
    case 'maximum':
      return atMost(has.maximum, operand) || atMost(has.exclusiveMaximum, operand)
    case 'exclusiveMaximum':
      return atMost(has.exclusiveMaximum, operand) || isLess(has.maximum, operand)
    case 'minimum':
      return atMost(operand, has.minimum) || atMost(operand, has.exclusiveMinimum)
    case 'exclusiveMinimum':
      return atMost(operand, has.exclusiveMinimum) || isLess(operand, has.minimum)
    case 'maxLength':
    case 'maxItems':
    case 'maxProperties':
      return atMost(has[keyword], operand)
    case 'minLength':
    case 'minItems':
    case 'minProperties':
      return atMost(operand, has[keyword]) || operand === 0
    case 'required':
      return allListed(operand, has.required ?? [], comparison)
    case 'items':
      return (
        has.items !== undefined &&
        has.prefixItems === undefined &&
        schemaImplies(has.items, operand, comparison, depth + 1)
      )
    case 'properties':
      return (
        isObject(operand) &&
        has.patternProperties === undefined &&
        Object.entries(operand).every(([name, schema]) =>
          schemaImplies(propertyOf(has, name), schema, comparison, depth + 1),
        )
      )
    case 'additionalProperties':
      return impliesAdditional(has, operand, around)
    default:
      return false
  }
}

/** What a schema says of one property: its own schema, or that of all others. */
const propertyOf = ({ properties, additionalProperties }: Schema, name: string): JsonValue =>
  isObject(properties) && Object.hasOwn(properties, name)
    ? (properties[name] as JsonValue)
    : (additionalProperties ?? true)

/** Each property that `wanted` counts as additional must be one that `has` limits as much. */
function impliesAdditional(has: Schema, operand: JsonValue, { wanted, depth, comparison }: Around): boolean {
  if (has.patternProperties !== undefined || wanted.patternProperties !== undefined) return false
  if (!schemaImplies(has.additionalProperties ?? true, operand, comparison, depth + 1)) return false
  const named = isObject(wanted.properties) ? wanted.properties : {}
  return Object.entries(isObject(has.properties) ? has.properties : {}).every(
    ([name, schema]) => Object.hasOwn(named, name) || schemaImplies(schema, operand, comparison, depth + 1),
  )
}

/** Says nothing of a value. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  'title',
  'description',
  'default',
  'examples',
  '$comment',
  'deprecated',
])

/** The types it allows; none where it does not say. */
const typesOf = ({ type }: Schema): JsonValue[] => (Array.isArray(type) ? type : type === undefined ? [] : [type])

function allowsTypes(allowed: JsonValue, types: readonly JsonValue[]): boolean {
  const known = new Set(Array.isArray(allowed) ? allowed : [allowed])
  return types.length > 0 && types.every((type) => known.has(type) || (type === 'integer' && known.has('number')))
}

/** The only values it allows, or null where it lists none. */
const valuesOf = (schema: Schema): JsonValue[] | null =>
  schema.const !== undefined ? [schema.const] : Array.isArray(schema.enum) ? schema.enum : null

const allListed = (values: JsonValue | null, list: JsonValue, comparison: Comparison): boolean =>
  Array.isArray(values) && Array.isArray(list) && comparison.allIn(values, list)

const atMost = (a: JsonValue | undefined, b: JsonValue | undefined): boolean =>
  typeof a === 'number' && typeof b === 'number' && a <= b
const isLess = (a: JsonValue | undefined, b: JsonValue | undefined): boolean =>
  typeof a === 'number' && typeof b === 'number' && a < b

const isObject = (value: JsonValue | undefined): value is Record<string, JsonValue> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
