import type { JsonObject, JsonValue } from '@countersign/protocol'
import { namesByNumber } from '../flows/argument-words.js'
import { childPath } from '../json/general-path.js'
import { isFieldName, JSON_TYPES, type JsonType, typeOf } from './shape.js'

/** What a tool's own schema says about one value, as far as drafts need it. Options, as of `anyOf`, are merged. */
export interface DeclaredValue {
  readonly types: ReadonlySet<JsonType>
  /** The values that the tool's author listed; null if others are allowed. */
  readonly choices: readonly JsonValue[] | null
  readonly properties: ReadonlyMap<string, DeclaredValue>
  /** Null if the schema does not say. */
  readonly required: ReadonlySet<string> | null
  readonly items: DeclaredValue | null
}

const MAX_DEPTH = 8
const MAX_NODES = 2_000
const MAX_CHOICES = 64
const MAX_CHOICE_LENGTH = 256

/** Reads an untrusted schema: anything odd in it is ignored, and references stay inside it. */
export function readDeclared(schema: unknown): DeclaredValue {
  return read(schema, { root: asObject(schema), left: MAX_NODES }, 0)
}

export const UNDECLARED: DeclaredValue = {
  types: new Set(),
  choices: null,
  properties: new Map(),
  required: null,
  items: null,
}

interface Reading {
  readonly root: JsonObject
  left: number
}

function read(given: unknown, reading: Reading, depth: number): DeclaredValue {
  if (depth > MAX_DEPTH || reading.left-- <= 0) return UNDECLARED
  const schema = asObject(given)
  const parts = [
    own(schema, reading, depth),
    ...[schema.anyOf, schema.oneOf, schema.allOf].flatMap((options) =>
      Array.isArray(options) ? options.map((option) => read(option, reading, depth + 1)) : [],
    ),
    ...(typeof schema.$ref === 'string' ? [read(definition(schema.$ref, reading.root), reading, depth + 1)] : []),
  ]
  return parts.reduce(unite)
}

function own(schema: JsonObject, reading: Reading, depth: number): DeclaredValue {
  const listed = Array.isArray(schema.enum) ? schema.enum : schema.const === undefined ? null : [schema.const]
  const names = Array.isArray(schema.type) ? schema.type : [schema.type]
  const types = JSON_TYPES.filter((type) => names.includes(type) || listed?.some((value) => typeOf(value) === type))
  const properties = Object.entries(asObject(schema.properties))
    .filter(([key]) => isFieldName(key))
    .map(([key, child]): [string, DeclaredValue] => [key, read(child, reading, depth + 1)])
  return {
    types: new Set(types),
    choices: listed !== null && listed.length <= MAX_CHOICES && listed.every(isPlain) ? listed : null,
    properties: new Map(properties),
    required: Array.isArray(schema.required)
      ? new Set(schema.required.filter((name) => typeof name === 'string'))
      : null,
    items: schema.items === undefined ? null : read(schema.items, reading, depth + 1),
  }
}

/** Merges two options for one value: allows whatever either allows. */
function unite(a: DeclaredValue, b: DeclaredValue): DeclaredValue {
  const properties = new Map(a.properties)
  for (const [key, value] of b.properties) {
    const other = properties.get(key)
    properties.set(key, other === undefined ? value : unite(other, value))
  }
  const required = a.required === null ? b.required : b.required === null ? a.required : common(a.required, b.required)
  const items = a.items === null ? b.items : b.items === null ? a.items : unite(a.items, b.items)
  return { types: new Set([...a.types, ...b.types]), choices: uniteChoices(a, b), properties, required, items }
}

function uniteChoices(a: DeclaredValue, b: DeclaredValue): readonly JsonValue[] | null {
  if (a.choices !== null && b.choices !== null) return atMost(MAX_CHOICES, [...a.choices, ...b.choices])
  const [listed, other] = a.choices === null ? [b.choices, a] : [a.choices, b]
  if (listed === null || [...other.types].some((type) => type !== 'null')) return null
  return other.types.has('null') && !listed.includes(null) ? [...listed, null] : listed
}

const atMost = <T>(most: number, list: T[]): T[] | null => (list.length <= most ? list : null)
const common = (a: ReadonlySet<string>, b: ReadonlySet<string>) => new Set([...a].filter((name) => b.has(name)))

/** A scalar that a contract can list. */
function isPlain(value: JsonValue): boolean {
  if (typeof value === 'string') return value.length <= MAX_CHOICE_LENGTH && value.isWellFormed()
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER
  return typeof value !== 'object' || value === null
}

function definition(reference: string, root: JsonObject): unknown {
  const [, place, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference) ?? []
  if (place === undefined || name === undefined) return null
  const definitions = asObject(root[place])
  return Object.hasOwn(definitions, name) ? definitions[name] : null
}

const asObject = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}

const MAX_TEXTS = 256

/** The texts and identifying numbers that a schema lists. A listed choice needs no source. */
export function declaredTexts(declared: DeclaredValue): Map<string, 'free' | 'choice'> {
  const texts = new Map<string, 'free' | 'choice'>()
  collectTexts(declared, '$', texts)
  return texts
}

function collectTexts(
  { types, choices, properties, items }: DeclaredValue,
  path: string,
  texts: Map<string, string>,
): void {
  if (texts.size >= MAX_TEXTS) return
  const numbers = types.has('integer') || types.has('number')
  if (types.has('string') || (numbers && namesByNumber(path))) texts.set(path, choices === null ? 'free' : 'choice')
  for (const [key, child] of properties) collectTexts(child, childPath(path, key), texts)
  if (items !== null) collectTexts(items, `${path}[*]`, texts)
}
