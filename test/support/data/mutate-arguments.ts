import type { JsonObject, JsonValue } from '@countersign/protocol'
import { pick } from './random.js'

/** Makes wrong arguments out of right ones; null where there is nothing to change in this way. */
export type Mutation = (args: JsonObject, schema: JsonObject, random: () => number) => JsonObject | null

export const MUTATIONS: Record<string, Mutation> = {
  'wrong type': (args, _schema, random) =>
    changeAt(args, pick(random, leavesOf(args)), (value) => ofAnotherType(value)),
  'missing required': (args, schema, random) => {
    const required = (schema.required ?? []) as string[]
    const name = pick(
      random,
      required.filter((each) => each in args),
    )
    if (name === undefined) return null
    const { [name]: _removed, ...rest } = args
    return rest
  },
  'extra argument': (args, _schema, random) => ({ ...args, [`extra_${Math.floor(random() * 1e6)}`]: random() }),
  'out of enum': (args, schema, random) => {
    const path = pick(random, enumPaths(args, schema))
    return changeAt(args, path, (value) => (typeof value === 'string' ? `${value}?` : 'none of these'))
  },
}

/**
 * A contract on arguments takes no others: the arguments are closed, and so is every object in them that names its
 * properties.
 */
export function closeSchema(schema: JsonObject, isInner = false): JsonObject {
  const closed: JsonObject = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'properties') {
      const properties = Object.entries(value as Record<string, JsonObject>)
      closed.properties = Object.fromEntries(properties.map(([name, each]) => [name, closeSchema(each, true)]))
      if (!isInner || properties.length > 0) closed.additionalProperties ??= false
    } else if (keyword === 'items') closed.items = closeSchema(value as JsonObject, true)
    // Not a keyword of JSON Schema: `required` says it.
    else if (keyword !== 'optional') closed[keyword] = value
  }
  return closed.type === 'array' ? withItemEnum(closed) : closed
}

/** BFCL writes the values that the items of an array may have beside the array's type. */
function withItemEnum({ enum: values, ...schema }: JsonObject): JsonObject {
  if (!Array.isArray(values) || values.some((value) => Array.isArray(value)))
    return { ...schema, ...(values !== undefined && { enum: values }) }
  return { ...schema, items: { ...(schema.items as JsonObject | undefined), enum: values } }
}

type Path = readonly (string | number)[]

/** Paths of all values that are not containers with something in them. */
function leavesOf(value: JsonValue, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  if (entries.length === 0) return path.length === 0 ? [] : [path]
  return entries.flatMap(([key, child]) => leavesOf(child, [...path, key]))
}

function enumPaths(value: JsonValue | undefined, schema: JsonObject, path: Path = []): Path[] {
  if (value === undefined) return []
  if (Array.isArray(schema.enum)) return [path]
  if (Array.isArray(value)) {
    const items = schema.items as JsonObject | undefined
    return items === undefined ? [] : value.flatMap((item, index) => enumPaths(item, items, [...path, index]))
  }
  if (typeof value !== 'object' || value === null) return []
  const properties = (schema.properties ?? {}) as Record<string, JsonObject>
  return Object.entries(properties).flatMap(([name, each]) => enumPaths(value[name], each, [...path, name]))
}

function changeAt(
  args: JsonObject,
  path: Path | undefined,
  change: (value: JsonValue) => JsonValue,
): JsonObject | null {
  const last = path?.at(-1)
  if (path === undefined || last === undefined) return null
  const copy = structuredClone(args)
  let parent = copy as Record<string | number, JsonValue>
  for (const step of path.slice(0, -1)) parent = parent[step] as Record<string | number, JsonValue>
  parent[last] = change(parent[last] as JsonValue)
  return copy
}

function ofAnotherType(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.length
  if (typeof value === 'number') return String(value)
  if (typeof value === 'boolean') return Number(value)
  return 'text'
}
