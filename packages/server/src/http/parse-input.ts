import { type Input, LIMITS, type Route } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { HttpRequest } from '../context/http-request.js'
import { checked, readJson } from '../context/json-body.js'
import type { Turns } from './begin-in-turn.js'
import { type HeldBodies, SMALL_BODY_BYTES } from './held-bodies.js'
import { hasBody, readBody, requireJson } from './read-body.js'

/** What the route's shapes make of the request, or 400 with the first faults by their paths. */
export async function parseInput(
  route: Route,
  request: HttpRequest,
  params: Readonly<Record<string, string>>,
  sender: Sender,
): Promise<Input<Route>> {
  const value = route.body === undefined ? noBody(request) : await readInput(route, request, sender)
  const shape = route.body === undefined || sender.read ? null : route.body
  return {
    params: route.params === undefined ? {} : checked(route.params, params, 'path'),
    query: hasNoQuery(route, request) ? {} : checkedQuery(route, request.query),
    body: shape === null ? value : checked(shape, value, 'body'),
  } as Input<Route>
}

/** Whose body it is, and what counts it. */
export interface Sender {
  readonly owner: string
  readonly bodies: HeldBodies
  /** In which bodies that fail are refused. */
  readonly turns: Turns
  /** In place of what the route's shape makes of the body. */
  readonly read?: ((bytes: Uint8Array) => Promise<unknown>) | undefined
}

function noBody(request: HttpRequest): Record<string, never> {
  if (hasBody(request))
    throw new ApiError('INVALID_REQUEST', { detail: 'this path accepts no body' }, { connection: 'close' })
  return {}
}

/** What a body becomes, for each byte. */
const BYTES_PER_BYTE = 3

async function readInput(route: Route, request: HttpRequest, sender: Sender): Promise<unknown> {
  if (!route.lenientBody) return readValue(route, request, sender)
  if (!hasBody(request)) return {}
  try {
    const value = await readValue(route, request, sender)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  } catch (error) {
    if (error instanceof ApiError && (takesAny(route) || error.code === 'INVALID_REQUEST')) return {}
    throw error
  }
}

const hasNoQuery = (route: Route, { query }: HttpRequest): boolean =>
  route.query === undefined && (query.length <= 1 || takesAny(route))

/** What stops a session, a workflow, an agent or a key must not fail because of its body. */
const takesAny = ({ lenientBody, throttle }: Route): boolean => lenientBody === true && throttle === 'stop'

async function readValue(route: Route, request: HttpRequest, sender: Sender): Promise<unknown> {
  const { owner, bodies, turns, read } = sender
  if (!takesAny(route)) requireJson(request)
  const maxSeconds = takesAny(route) ? 1 : LIMITS.bodySeconds
  const bytes = await readBody(request, { maxBytes: maxBodyBytes(route), maxSeconds, owner, bodies, turns })
  if (bytes.length > SMALL_BODY_BYTES)
    await bodies.beforeParsing(request.incoming, owner, bytes.length * BYTES_PER_BYTE)
  if (read) return read(bytes)
  return readJson(bytes, route)
}

function checkedQuery(route: Route, query: string): unknown {
  // Strangers can ask for such a path, and reading a long query takes a millisecond.
  if (route.query === undefined) throw new ApiError('INVALID_REQUEST', { detail: 'query: this path has no parameters' })
  if (query.length > LIMITS.queryLength)
    throw new ApiError('INVALID_REQUEST', { detail: `query: more than ${LIMITS.queryLength} characters` })
  const values: Record<string, string> = Object.create(null)
  for (const [name, value] of new URLSearchParams(query)) {
    if (name in values)
      throw new ApiError('INVALID_REQUEST', { detail: `query: ${nameOf(name)} is given more than once` })
    values[name] = value
  }
  return checked(route.query, values, 'query')
}

/** A key sent by mistake as a query parameter's name must not come back in the reply. */
const nameOf = (name: string) => (/^[a-z_]{1,40}$/.test(name) ? name : 'a parameter')

/** How long the body of a request to this route may be. */
export function maxBodyBytes(route: Route): number {
  // Strangers get nothing of the memory in which large bodies wait: some of them together would keep tenants out of it.
  if (route.auth === 'none') return LIMITS.openBodyBytes
  // No quota counts what comes with a stop.
  if (takesAny(route)) return LIMITS.openBodyBytes
  return route.largeBody ? LIMITS.largeBodyBytes : LIMITS.bodyBytes
}
