import { type Input, LIMITS, type Route } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Asked } from '../context/isolation.js'
import { checked, readJson } from '../context/json-body.js'
import { takesAnyBody } from './bodies.js'

/** What the route's shapes make of the request, or 400 with the first faults by their paths. */
export function parseInput(
  route: Route,
  { params, query, body }: Asked,
  read?: (bytes: Uint8Array) => unknown,
): Input<Route> {
  const parsed = {
    params: route.params === undefined ? {} : checked(route.params, params, 'path'),
    query: hasNoQuery(route, query) ? {} : checkedQuery(route, query),
  }
  return { ...parsed, body: read && body ? read(body) : parseBody(route, body) } as Input<Route>
}

function parseBody(route: Route, bytes: Uint8Array | null): unknown {
  if (route.body === undefined) return {}
  return checked(route.body, bytes === null ? {} : readValue(route, bytes), 'body')
}

function readValue(route: Route, bytes: Uint8Array): unknown {
  try {
    const value = readJson(bytes, route)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return route.lenientBody && !isObject ? {} : value
  } catch (error) {
    if (route.lenientBody && isForgiven(error, route)) return {}
    throw error
  }
}

/** A body that cannot be read counts as none. */
const isForgiven = (error: unknown, route: Route): boolean =>
  error instanceof ApiError && (takesAnyBody(route) || error.code === 'INVALID_REQUEST')

const hasNoQuery = (route: Route, query: string): boolean =>
  route.query === undefined && (query.length <= 1 || takesAnyBody(route))

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
