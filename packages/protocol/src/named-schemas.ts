import { z } from 'zod'
import { jsonSchema } from './base/json.js'
import { problemSchema } from './http/problem.js'
import type { Route } from './http/route.js'
import { ROUTES } from './routes.js'
import * as shapes from './shapes.js'

export type JsonSchema = Record<string, unknown>
type Schemas = Map<string, JsonSchema>

const PREFIX = '#/components/schemas/'

/** The JSON Schemas of every shape that a route takes or answers with. */
export interface NamedSchemas {
  /** Refers to the component of a request body. */
  readonly bodyRef: (schema: z.ZodType) => JsonSchema
  /** Refers to the component of a reply. */
  readonly replyRef: (schema: z.ZodType) => JsonSchema
  /** What the path or the query takes, as an object with `properties`. */
  readonly parameters: (schema: z.ZodType) => JsonSchema
  readonly components: Readonly<Record<string, JsonSchema>>
}

/**
 * A member with a default may be left out of a request and is always in a reply. A shape in which the two differ has two
 * components when both are used: `Name` for replies, `NameInput` for requests.
 */
export function namedSchemas(): NamedSchemas {
  const names = schemaNames()
  const nameOf = (schema: z.ZodType) => names.get(schema) ?? ''
  const requests = jsonSchemas(names, 'input')
  const replies = jsonSchemas(names, 'output')
  const routes = Object.values<Route>(ROUTES)

  const parameters = routes.flatMap(({ params, query }) => [params, query]).filter((schema) => schema !== undefined)
  const bodies = routes.map(({ body }) => body).filter((schema) => schema !== undefined)
  const inReplies = reachable([...routes.map(({ reply }) => reply), problemSchema].map(nameOf), replies)
  const inRequests = reachable(
    [...bodies.map(nameOf), ...parameters.flatMap((schema) => refsOf(requests.get(nameOf(schema))))],
    requests,
  )
  const split = new Set([...inRequests].filter((name) => inReplies.has(name) && differs(name, requests, replies)))

  const requestName = (name: string) => (split.has(name) ? `${name}Input` : name)
  const forRequests = (schema: JsonSchema): JsonSchema =>
    JSON.parse(JSON.stringify(schema), (key, value) =>
      key === '$ref' ? PREFIX + requestName(value.slice(PREFIX.length)) : value,
    )
  const components = new Map<string, JsonSchema>()
  for (const name of inRequests) components.set(requestName(name), forRequests(requests.get(name) ?? {}))
  for (const name of inReplies) components.set(name, replies.get(name) ?? {})

  return {
    bodyRef: (schema) => ({ $ref: PREFIX + requestName(nameOf(schema)) }),
    replyRef: (schema) => ({ $ref: PREFIX + nameOf(schema) }),
    parameters: (schema) => forRequests(requests.get(nameOf(schema)) ?? {}),
    components: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** A shape is named as the protocol exports it (`sessionViewSchema` is `SessionView`), or else by its route. */
function schemaNames(): Map<z.ZodType, string> {
  const names = new Map<z.ZodType, string>([[jsonSchema, 'JsonValue']])
  const add = (schema: unknown, name: string) => {
    if (schema instanceof z.ZodType && !names.has(schema)) names.set(schema, capitalize(name))
  }
  for (const [name, schema] of Object.entries(shapes)) add(schema, name.replace(/Schema$/, ''))
  for (const [name, route] of Object.entries<Route>(ROUTES)) {
    add(route.params, `${name}Path`)
    add(route.query, `${name}Query`)
    add(route.body, `${name}Body`)
    add(route.reply, `${name}Reply`)
  }
  return names
}

function jsonSchemas(names: ReadonlyMap<z.ZodType, string>, io: 'input' | 'output'): Schemas {
  const registry = z.registry<{ id: string }>()
  for (const [schema, id] of names) registry.add(schema, { id })
  const { schemas } = z.toJSONSchema(registry, {
    io,
    unrepresentable: 'any',
    uri: (name) => PREFIX + name,
    override: ({ jsonSchema: schema }) => {
      if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
      if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
      if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames
    },
  })
  return new Map(
    Object.entries(schemas).map(([name, { $schema: _, $id: __, ...schema }]) => [name, schema as JsonSchema]),
  )
}

/** Names of the shapes that a shape uses directly. */
const refsOf = (schema: JsonSchema | undefined): string[] =>
  [...(JSON.stringify(schema) ?? '').matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(
    ([, name]) => name ?? '',
  )

function reachable(roots: readonly string[], schemas: Schemas): Set<string> {
  const found = new Set(roots)
  for (const name of found) for (const used of refsOf(schemas.get(name))) found.add(used)
  return found
}

const differs = (root: string, requests: Schemas, replies: Schemas) =>
  [...reachable([root], requests)].some(
    (name) => JSON.stringify(requests.get(name)) !== JSON.stringify(replies.get(name)),
  )
