import type { z } from 'zod'
import type { Throttled } from '../base/limits.js'

export type Method = 'GET' | 'POST' | 'DELETE'

/** One endpoint. The server registers it, the SDK and the dashboard call it, the reference is generated from it. */
export interface Route extends Throttled {
  readonly method: Method
  /** Relative to the base URL, parameters as `:name`. */
  readonly path: string
  /** `api_key` under /api/v1/, `cookie` for the dashboard, `none` before sign-in. */
  readonly auth: 'api_key' | 'cookie' | 'none'
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
export function pathOf({ path }: Pick<Route, 'path'>, params: Readonly<Record<string, string>> = {}): string {
  return path.replace(PARAMETER, (_, name: string) => {
    const value = params[name]
    if (value === undefined) throw new TypeError(`${path} needs the parameter ${name}`)
    return encodeURIComponent(value)
  })
}

/** The path of a route as OpenAPI writes it, with parameters as `{name}`. */
export const pathTemplate = ({ path }: Pick<Route, 'path'>): string => path.replace(PARAMETER, '{$1}')

const PARAMETER = /:([a-z_]+)/g
