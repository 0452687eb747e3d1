import { FILE_NAMES, fileSchema, OPERATORS } from '@countersign/protocol'
import { NESTED_KEY_MEANINGS } from './nested-key-meanings.js'

type FileName = (typeof FILE_NAMES)[number]
type Schema = { readonly [keyword: string]: unknown }

/** A key below one of a file's own: its path from there, what it takes, what it is without it, and what it means. */
type KeyRow = readonly [path: string, takes: string, otherwise: string, meaning: string]

/** The name under which the keys of an invariant stand, wherever one is used. */
export const INVARIANTS = 'invariants'
/** The same for the keys of a condition. */
export const CONDITIONS = 'conditions'
const SECTIONS: ReadonlyMap<string, string> = new Map([
  ['invariant', INVARIANTS],
  ['condition', CONDITIONS],
])

/** By key of the file: the keys inside, as the schema has them. Throws for a key without a meaning. */
export function nestedKeys(
  file: FileName,
  meanings: Readonly<Record<string, string>> = NESTED_KEY_MEANINGS,
): ReadonlyMap<string, readonly KeyRow[]> {
  const root = fileSchema(file) as Schema
  const definitions = objectOf(root.definitions)
  const found = new Map<string, KeyRow[]>()

  const walk = (schema: Schema, path: string, isOneForm = false): void => {
    const { $ref, properties, additionalProperties, items } = schema
    if (typeof $ref === 'string') {
      const name = nameOf($ref)
      if (OPAQUE.has(name)) return
      const section = SECTIONS.get(name)
      if (section === undefined) walk(objectOf(definitions[name]), path, isOneForm)
      else if (!found.has(section)) walk(objectOf(definitions[name]), section)
      return
    }
    const forms = branchesOf(schema)
    const isOneOfSeveral = forms.filter((form) => keysOf(form, definitions).length > 0).length > 1
    for (const form of forms) walk(form, path, isOneOfSeveral)
    if (isObject(items)) walk(items, path)
    if (isObject(additionalProperties)) walk(additionalProperties, `${path}.PATTERN`)
    const required = Array.isArray(schema.required) ? schema.required : []
    for (const [key, value] of Object.entries(objectOf(properties))) {
      const inner = path === '' ? key : `${path}.${key}`
      const isOwn = path === '' || (WITH_OPERATORS.get(path)?.has(key) ?? false)
      if (!isOwn) addRow(inner, objectOf(value), !isOneForm && required.includes(key))
      walk(objectOf(value), inner)
    }
  }

  function addRow(path: string, schema: Schema, isRequired: boolean): void {
    const meaning = meanings[path]
    if (meaning === undefined) throw new Error(`nested-key-meanings.ts does not say what ${path} of ${file} means`)
    const [top = '', ...rest] = path.split('.')
    const otherwise = isRequired ? 'required' : schema.default === undefined ? '' : code(schema.default)
    const row: KeyRow = [`\`${rest.join('.')}\``, takes(schema, definitions), otherwise, meaning]
    const before = found.get(top) ?? []
    if (!before.some(([known]) => known === row[0])) found.set(top, [...before, row])
  }

  walk(root, '')
  return found
}

/** Keys that are described elsewhere: operators have a table of their own. */
const WITH_OPERATORS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [INVARIANTS, new Set(OPERATORS)],
  [CONDITIONS, new Set(OPERATORS)],
  ['argument_value_invariants', new Set(['path', 'message', ...OPERATORS])],
])

/** The meanings that no key has any more. */
export function unusedMeanings(): string[] {
  const used = new Set(
    FILE_NAMES.flatMap((file) =>
      [...nestedKeys(file)].flatMap(([top, rows]) => rows.map(([path]) => `${top}.${path.replaceAll('`', '')}`)),
    ),
  )
  return Object.keys(NESTED_KEY_MEANINGS).filter((path) => !used.has(path))
}

/** Values whose insides are no part of the language, in words. */
const OPAQUE: ReadonlyMap<string, string> = new Map([
  ['json', 'any value'],
  ['jsonObject', 'an object'],
  ['schemaDocument', 'a JSON Schema'],
])

const WORDS: ReadonlyMap<string, string> = new Map([
  ...OPAQUE,
  ['invariant', '[invariant](#invariants)'],
  ['argumentRule', '[invariant](#invariants), optionally with `when`'],
  ['condition', '[condition](#conditions)'],
  ['when', 'a list: [condition](#conditions)'],
  ['path', 'JSON path'],
  ['name', 'name'],
  ['toolName', 'tool'],
  ['label', 'label'],
  ['hash', 'hash'],
])

function takes(schema: Schema, definitions: Schema): string {
  if (typeof schema.$ref === 'string') {
    const name = nameOf(schema.$ref)
    return WORDS.get(name) ?? takes(objectOf(definitions[name]), definitions)
  }
  const branches = branchesOf(schema)
  if (branches.length > 0) return [...new Set(branches.map((part) => takes(part, definitions)))].join(' or ')
  if (schema.const !== undefined) return code(schema.const)
  if (Array.isArray(schema.enum)) return schema.enum.length > MOST_NAMED ? 'a name' : schema.enum.map(code).join(', ')
  if (schema.type === 'array') {
    return Array.isArray(schema.items)
      ? `${schema.items.length} numbers`
      : `a list: ${takes(objectOf(schema.items), definitions)}`
  }
  if (schema.type === 'object') {
    const values = schema.additionalProperties
    const keys = Object.keys(objectOf(schema.properties))
    return isObject(values) ? `by name: ${takes(values, definitions)}` : `\`{ ${keys.join(', ')} }\``
  }
  if (schema.type === 'boolean') return 'true or false'
  if (schema.type === 'integer' || schema.type === 'number') return numberText(schema)
  return 'text'
}

const MOST_NAMED = 12

function numberText({ type, minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema): string {
  const bounds = [
    minimum === undefined ? '' : `at least ${minimum}`,
    exclusiveMinimum === undefined ? '' : `above ${exclusiveMinimum}`,
    maximum === undefined ? '' : `at most ${Number(maximum).toLocaleString('en-US')}`,
    exclusiveMaximum === undefined ? '' : `below ${exclusiveMaximum}`,
  ].filter((bound) => bound !== '')
  return [type === 'integer' ? 'whole number' : 'number', ...bounds].join(', ')
}

/** The alternatives of a schema, and what it is made of; what only ties keys together is neither. */
const branchesOf = (schema: Schema): Schema[] =>
  [schema.allOf, schema.anyOf, schema.oneOf]
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .filter((part): part is Schema => isObject(part) && (part.$ref !== undefined || part.type !== undefined))

const keysOf = (schema: Schema, definitions: Schema): string[] => {
  const { $ref } = schema
  const whole = typeof $ref === 'string' ? objectOf(definitions[nameOf($ref)]) : schema
  return Object.keys(objectOf(whole.properties))
}

const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1)
const code = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const objectOf = (value: unknown): Schema => (isObject(value) ? value : {})
