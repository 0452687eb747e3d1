import type { JsonObject, JsonValue } from '@countersign/protocol'
import { isObject } from './schema-run.js'

/** A schema with the URI that references in it are relative to. */
export interface Located {
  readonly schema: JsonValue
  readonly base: string
}

/** One JSON Schema and the schemas inside it that can be referred to. Nothing is ever fetched. */
export interface SchemaDocument {
  readonly root: Located
  /** The schema that a reference means. Throws where there is none. */
  resolve(reference: string, base: string): Located
  /** A schema inside another one: with an `$id`, it has its own base. */
  locate(schema: JsonValue, above: string): Located
}

/** The keywords that hold one schema, and those that hold several, as a list or by name. */
const ONE_SCHEMA: ReadonlySet<string> = new Set([
  'not',
  'if',
  'then',
  'else',
  'items',
  'contains',
  'propertyNames',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contentSchema',
])
const SEVERAL_SCHEMAS: ReadonlySet<string> = new Set([
  'allOf',
  'anyOf',
  'oneOf',
  'prefixItems',
  'properties',
  'patternProperties',
  'dependentSchemas',
  'dependencies',
  '$defs',
  'definitions',
])

/** For documents without an `$id`, so that relative references can be resolved. */
const NO_ID = 'schema:///'

/** What a document has under one URI. */
interface Resource {
  readonly root: Located
  readonly anchors: Map<string, Located>
}

export function readDocument(schema: JsonValue): SchemaDocument {
  const resources = new Map<string, Resource>()
  const locate = (one: JsonValue, above: string): Located => {
    const hasId = isObject(one) && typeof one.$id === 'string'
    return { schema: one, base: hasId ? withoutFragment(resolveUri(one.$id as string, above)) : above }
  }
  const root = locate(schema, NO_ID)
  add(root)
  collect(root)
  return { root, resolve, locate }

  function collect(located: Located): void {
    const { schema: one, base } = located
    if (!isObject(one)) return
    if (typeof one.$id === 'string') add(located)
    if (typeof one.$anchor === 'string') addAnchor(one.$anchor, located)
    for (const subschema of subschemasOf(one)) collect(locate(subschema, base))
  }

  function add(located: Located): void {
    const known = resources.get(located.base)
    if (known === undefined) resources.set(located.base, { root: located, anchors: new Map() })
    else if (known.root.schema !== located.schema) throw new Error(`two schemas are called "${located.base}"`)
  }

  function addAnchor(anchor: string, located: Located): void {
    const anchors = resources.get(located.base)?.anchors
    const known = anchors?.get(anchor)
    if (known !== undefined && known.schema !== located.schema)
      throw new Error(`two schemas are called "${located.base}#${anchor}"`)
    anchors?.set(anchor, located)
  }

  function resolve(reference: string, base: string): Located {
    const [uri = '', fragment = ''] = split(resolveUri(reference, base))
    const resource = resources.get(uri)
    const isPointer = fragment === '' || fragment.startsWith('/')
    const found =
      isPointer && resource !== undefined ? follow(resource.root, fragment) : resource?.anchors.get(fragment)
    if (found === undefined) throw new Error(`the reference "${reference}" leads to no schema of this document`)
    return found
  }

  /** Follows a JSON Pointer; the base changes where it enters a schema with an `$id`. */
  function follow(start: Located, pointer: string): Located | undefined {
    let at = start
    for (const part of pointer.split('/').slice(1)) {
      const name = decode(part).replaceAll('~1', '/').replaceAll('~0', '~')
      const next = memberOf(at.schema, name)
      if (next === undefined) return undefined
      at = locate(next, at.base)
    }
    return at
  }
}

function memberOf(schema: JsonValue, name: string): JsonValue | undefined {
  if (Array.isArray(schema)) return /^\d+$/.test(name) ? schema[Number(name)] : undefined
  return isObject(schema) && Object.hasOwn(schema, name) ? schema[name] : undefined
}

/** The schemas directly inside a schema. Values such as those of `enum` are not among them, whatever they look like. */
function* subschemasOf(schema: JsonObject): Iterable<JsonValue> {
  for (const [keyword, operand] of Object.entries(schema)) {
    if (ONE_SCHEMA.has(keyword)) yield operand
    else if (SEVERAL_SCHEMAS.has(keyword) && typeof operand === 'object' && operand !== null) {
      yield* Object.values(operand)
    }
  }
}

/**
 * Each `$id` and reference is resolved against the one above it, which takes its length each time: without a bound, one
 * `$id` of 60,000 characters above 1,800 others took a minute and all memory.
 */
const MAX_URI_LENGTH = 512

function resolveUri(reference: string, base: string): string {
  if (reference.length > MAX_URI_LENGTH) throw tooLong(reference)
  let uri: string
  try {
    uri = new URL(reference, base).href
  } catch {
    throw new Error(`"${reference}" is not a URI reference`)
  }
  // What is not ASCII is written with nine times as many characters, and bases add up.
  if (uri.length > MAX_URI_LENGTH) throw tooLong(uri)
  return uri
}

const tooLong = (uri: string): Error =>
  new Error(`the URI "${uri.slice(0, 40)}…" has ${uri.length} characters, and may have ${MAX_URI_LENGTH}`)

const split = (uri: string): string[] => {
  const at = uri.indexOf('#')
  return at === -1 ? [uri] : [uri.slice(0, at), uri.slice(at + 1)]
}

function withoutFragment(uri: string): string {
  const [before = '', fragment = ''] = split(uri)
  if (fragment !== '') throw new Error(`the $id "${uri}" has a fragment: use $anchor`)
  return before
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
