import type { z } from 'zod'
import type { Throttled } from '../base/limits.js'
import type { KeyAccess, Role } from '../base/roles.js'

export type Method = 'GET' | 'POST' | 'DELETE'

/** Everything of an endpoint but who may call it. */
interface Endpoint extends Throttled {
  readonly method: Method
  /** Relative to the base URL, parameters as `:name`. */
  readonly path: string
  readonly summary: string
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  readonly reply: z.ZodType
  /** Default: 200. */
  readonly status?: 200 | 201
  /** A body is not needed: one that is missing or no JSON object counts as `{}`. On a route that stops, so does any that cannot be read. */
  readonly lenientBody?: true
  /** Stores foreign data without judging it: any key and any number is accepted. */
  readonly anyData?: true
  /** Answers 404 unless workflow governance is enabled. */
  readonly workflows?: true
}

/** For programs, under /api/v1/. */
export interface KeyRoute extends Endpoint {
  readonly auth: 'api_key'
  /** Which keys may call it. */
  readonly access: readonly KeyAccess[]
  /**
   * Where a request says which agent and environment it is about, for keys that are bound to some. `agents`: captures,
   * which name agents and no environment. `tenant`: it is about all of them.
   */
  readonly about: 'body' | 'query' | 'agents' | 'session' | 'workflow' | 'run' | 'tenant'
}

/** For people who are signed in. */
export interface PersonRoute extends Endpoint {
  readonly auth: 'cookie'
  /** The least that the person must be. */
  readonly role: Role
}

/** Before sign-in. */
export interface OpenRoute extends Endpoint {
  readonly auth: 'none'
}

/** One endpoint. The server registers it, the SDK and the dashboard call it, the reference is generated from it. */
export type Route = KeyRoute | PersonRoute | OpenRoute

type Parsed<T> = T extends z.ZodType ? z.output<T> : Record<never, never>
type Sent<T> = T extends z.ZodType ? z.input<T> : Record<never, never>
type Field<R extends Route, K extends 'params' | 'query' | 'body'> = K extends keyof R ? R[K] : undefined

/** What an operation receives. */
export interface Input<R extends Route> {
  readonly params: Parsed<Field<R, 'params'>>
  readonly query: Parsed<Field<R, 'query'>>
  readonly body: Parsed<Field<R, 'body'>>
}
export type Reply<R extends Route> = z.input<R['reply']>
/** A reply as the client has it after validation. */
export type CheckedReply<R extends Route> = z.output<R['reply']>
export type RequestBody<R extends Route> = Sent<Field<R, 'body'>>
/** What a caller receives. */
export type Answer<R extends Route> = z.output<R['reply']>

/** The path of a route with its parameters filled in. Throws if one is missing: the path would be another one. */
export function pathOf({ path }: Pick<Endpoint, 'path'>, params: Readonly<Record<string, string>> = {}): string {
  return path.replace(PARAMETER, (_, name: string) => {
    const value = params[name]
    if (value === undefined) throw new TypeError(`${path} needs the parameter ${name}`)
    return encodeURIComponent(value)
  })
}

/** The path of a route as OpenAPI writes it, with parameters as `{name}`. */
export const pathTemplate = ({ path }: Pick<Endpoint, 'path'>): string => path.replace(PARAMETER, '{$1}')

const PARAMETER = /:([a-z_]+)/g
