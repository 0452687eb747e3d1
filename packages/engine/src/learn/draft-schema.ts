import type { JsonObject, JsonValue } from '@countersign/protocol'
import { type DeclaredValue, UNDECLARED } from './declared-schema.js'
import { JSON_TYPES, type JsonType, newShape, SHAPE_LIMITS, type Shape } from './shape.js'

/** How strict a draft may be beyond structure. */
export interface SchemaPolicy {
  /** Enough samples to say which fields are required and that there are no others. */
  readonly closed: boolean
  /** Enough sessions without exception to restrict calls to the values seen: enums, ranges, lengths, spellings. */
  readonly proven: boolean
  /** A single value may stand where a list was seen: a call that only reads does no harm in another shape. */
  readonly scalarsForLists?: boolean
}

/**
 * A JSON Schema that accepts every value it was learned from. If the tool's own schema is known, what that allows stays
 * allowed even if unused, and what it lists stays the list.
 */
export function draftSchema(
  shape: Shape,
  policy: SchemaPolicy,
  declared: DeclaredValue = UNDECLARED,
  depth = 0,
): JsonObject {
  const types = new Set<JsonType>([...(Object.keys(shape.types) as JsonType[]), ...declared.types])
  if (policy.scalarsForLists === true) for (const type of itemTypes(shape, declared)) types.add(type)
  if (types.size === 0 || depth > SHAPE_LIMITS.depth) return {}
  const listed = choicesOf(shape, declared, types)
  if (listed !== null) return { enum: listed }
  const schema: JsonObject = { type: typeList(types, policy.proven) }
  if (types.has('object')) Object.assign(schema, objectKeywords(shape, policy, declared, depth))
  if (types.has('array')) Object.assign(schema, arrayKeywords(shape, policy, declared, depth))
  if (policy.proven) Object.assign(schema, valueKeywords(shape, types))
  return schema
}

const itemTypes = (shape: Shape, { items }: DeclaredValue): JsonType[] => [
  ...(Object.keys(shape.items?.types ?? {}) as JsonType[]),
  ...(items?.types ?? []),
]

/** What the tool's author listed, plus what else was used. Null if nothing is listed or too much was used. */
function choicesOf(shape: Shape, { choices }: DeclaredValue, types: ReadonlySet<JsonType>): JsonValue[] | null {
  if (choices === null || shape.values.full || types.has('object') || types.has('array')) return null
  const seen = shape.values.entries.map(([text]) => text)
  if (shape.types.null !== undefined) seen.push('null')
  return [...new Set([...choices.map((value) => JSON.stringify(value)), ...seen])]
    .sort()
    .map((text) => JSON.parse(text) as JsonValue)
}

/** Only whole numbers so far does not rule out fractions until there is enough evidence. */
function typeList(types: ReadonlySet<JsonType>, proven: boolean): JsonValue {
  const list = new Set(types)
  if (!proven && list.has('integer')) list.add('number')
  if (list.has('number')) list.delete('integer')
  const sorted = JSON_TYPES.filter((type) => list.has(type))
  return sorted.length === 1 ? (sorted[0] as string) : sorted
}

function objectKeywords(shape: Shape, policy: SchemaPolicy, declared: DeclaredValue, depth: number): JsonObject {
  // Its keys were data at some point: a field's name may have been among them.
  if (shape.rest !== null) return {}
  const fields = new Map(shape.fields.entries.map(([key, { shape: field }]) => [key, field]))
  const names = [...new Set([...declared.properties.keys(), ...fields.keys()])].sort()
  const properties = names.map((key) => {
    const child = draftSchema(fields.get(key) ?? newShape(), policy, declared.properties.get(key), depth + 1)
    return [key, child] as const
  })
  const keywords: JsonObject = properties.length > 0 ? { properties: Object.fromEntries(properties) } : {}
  const objects = shape.types.object ?? 0
  const always = [...fields].filter(([, field]) => objects > 0 && countValues(field) === objects).map(([key]) => key)
  const needed = always.filter((key) => declared.required?.has(key) ?? policy.closed).sort()
  if (needed.length > 0) keywords.required = needed
  const open = shape.fields.full || depth >= SHAPE_LIMITS.depth || !policy.closed
  return open ? keywords : { ...keywords, additionalProperties: false }
}

function arrayKeywords(shape: Shape, policy: SchemaPolicy, declared: DeclaredValue, depth: number): JsonObject {
  const said = declared.items ?? undefined
  const items =
    shape.items === null && said === undefined ? null : draftSchema(shape.items ?? newShape(), policy, said, depth + 1)
  const keywords: JsonObject = items === null ? {} : { items }
  if (policy.proven && shape.mostItems > 0) keywords.maxItems = headroom(shape.mostItems)
  return keywords
}

/** Only for places with scalars of one type; a mixture says too little. */
function valueKeywords(shape: Shape, types: ReadonlySet<JsonType>): JsonObject {
  const keywords: JsonObject = {}
  const scalars = [...types].filter((type) => type !== 'null')
  if (scalars.length === 1 && scalars[0] === 'string') {
    if (!shape.values.full && isChoice(shape)) return { enum: enumOf(shape, types) }
    keywords.maxLength = headroom(shape.longest)
    const pattern = patternOf(shape)
    if (pattern !== null) keywords.pattern = pattern
  }
  if (scalars.every((type) => type === 'integer' || type === 'number')) {
    if (shape.minimum !== null && shape.minimum >= 0) keywords.minimum = 0
    const most = shape.maximum === null ? 0 : headroom(shape.maximum)
    if (most > 0 && Number.isSafeInteger(most)) keywords.maximum = most
  }
  return keywords
}

const MAX_CHOICES = 8
const CHOICE_SUPPORT = 5

/** Few values, each seen often, and all of them words: identifiers are judged by their source, not by a list. */
function isChoice(shape: Shape): boolean {
  const { entries } = shape.values
  if (entries.length === 0 || entries.length > MAX_CHOICES) return false
  return (
    Object.keys(shape.kinds).every((kind) => kind === 'name') &&
    entries.every(([, { count }]) => count >= CHOICE_SUPPORT)
  )
}

function enumOf(shape: Shape, types: ReadonlySet<JsonType>): JsonValue[] {
  const values = shape.values.entries.map(([text]) => JSON.parse(text) as string).sort()
  return types.has('null') ? [...values, null] : values
}

/** One spelling of letters and digits with fixed lengths, such as `#A9999999`. */
function patternOf(shape: Shape): string | null {
  const only = shape.masks.entries[0]?.[0]
  const onlyIds = Object.keys(shape.kinds).every((kind) => kind === 'id')
  if (only === undefined || shape.masks.full || shape.masks.entries.length > 1 || !onlyIds) return null
  const parts = only.match(/9+|A+|a+|[^9Aa]/gu) ?? []
  return `^${parts.map(patternPart).join('')}$`
}

function patternPart(part: string): string {
  const repeat = part.length > 1 ? `{${part.length}}` : ''
  if (part.startsWith('9')) return `[0-9]${repeat}`
  if (part.startsWith('A')) return `[A-Z]${repeat}`
  if (part.startsWith('a')) return `[a-z]${repeat}`
  return part.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&')
}

/** The next power of ten above ten times the largest seen. */
const headroom = (largest: number): number => 10 ** (Math.floor(Math.log10(Math.max(1, largest))) + 2)

const countValues = (shape: Shape): number => Object.values(shape.types).reduce((sum, count) => sum + count, 0)
