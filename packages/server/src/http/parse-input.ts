import { holdsNul, parseStrictJson } from '@countersign/engine'
import { type Input, type JsonValue, LIMITS, type Route } from '@countersign/protocol'
import { z } from 'zod'
import { ApiError } from '../base/api-error.js'
import type { HttpRequest } from '../context/http-request.js'
import type { HeldBodies } from './held-bodies.js'
import { hasBody, readBody } from './read-body.js'

/** What the route's shapes make of the request, or 400 with every fault by its path. */
export async function parseInput(
  route: Route,
  request: HttpRequest,
  params: Readonly<Record<string, string>>,
  sender: Sender,
): Promise<Input<Route>> {
  const body = route.body === undefined ? noBody(request) : await readInput(route, request, sender)
  return {
    params: route.params === undefined ? {} : checked(route.params, params, 'path'),
    query:
      route.query === undefined && request.query === '' ? {} : checkedQuery(route, new URLSearchParams(request.query)),
    body: route.body === undefined ? body : checked(route.body, body, 'body'),
  } as Input<Route>
}

/** Whose body it is, and what counts it. */
export interface Sender {
  readonly owner: string
  readonly bodies: HeldBodies
}

function noBody(request: HttpRequest): Record<string, never> {
  if (hasBody(request))
    throw new ApiError('INVALID_REQUEST', { detail: 'this path accepts no body' }, { connection: 'close' })
  return {}
}

function readInput(route: Route, request: HttpRequest, sender: Sender): Promise<JsonValue> {
  if (!route.lenientBody) return jsonBody(route, request, sender)
  return jsonBody(route, request, sender).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'INVALID_REQUEST') return null
    throw error
  })
}

async function jsonBody(route: Route, request: HttpRequest, { owner, bodies }: Sender): Promise<JsonValue> {
  const maxBytes = maxBodyBytes(route)
  const text = await readBody(request, { maxBytes, owner, bodies })
  const json = parseStrictJson(text, { maxDepth: LIMITS.jsonDepth, anyData: route.anyData === true })
  if (!json.ok) throw new ApiError('INVALID_REQUEST', { detail: `body: ${json.problem}` })
  // PostgreSQL cannot store it, and a reader in C would stop at it.
  if (holdsNul(text)) throw new ApiError('INVALID_REQUEST', { detail: 'body: a string contains a NUL character' })
  return json.value
}

function checkedQuery(route: Route, query: URLSearchParams): unknown {
  const values: Record<string, string> = Object.create(null)
  for (const [name, value] of query) {
    if (name in values)
      throw new ApiError('INVALID_REQUEST', { detail: `query: ${nameOf(name)} is given more than once` })
    values[name] = value
  }
  if (route.query !== undefined) return checked(route.query, values, 'query')
  const [unknown] = Object.keys(values)
  if (unknown !== undefined)
    throw new ApiError('INVALID_REQUEST', { detail: `query: ${nameOf(unknown)} is not a known parameter` })
  return {}
}

/** A key sent by mistake as a query parameter's name must not come back in the reply. */
const nameOf = (name: string) => (/^[a-z_]{1,40}$/.test(name) ? name : 'a parameter')

function checked(schema: z.ZodType, value: unknown, where: 'path' | 'query' | 'body'): unknown {
  const result = compiled(schema).safeParse(value)
  if (result.success) return result.data
  const errors = result.error.issues.slice(0, 20).map((issue) => ({
    path: [where, ...issue.path.map(String)].join('.'),
    message: issue.message,
  }))
  const first = errors[0]
  throw new ApiError('INVALID_REQUEST', { detail: `${first?.path}: ${first?.message}`, errors })
}

/** Code made from each shape when it is first asked for: what it refuses, the shape itself is asked about. */
const COMPILED = new WeakMap<z.ZodType, z.ZodType>()

function compiled(schema: z.ZodType): z.ZodType {
  const known = COMPILED.get(schema)
  if (known !== undefined) return known
  const made = z.compile(schema)
  COMPILED.set(schema, made)
  return made
}

/** How long the body of a request to this route may be. */
export const maxBodyBytes = (route: Route): number => (route.largeBody ? LIMITS.largeBodyBytes : LIMITS.bodyBytes)
