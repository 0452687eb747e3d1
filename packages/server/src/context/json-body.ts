import {
  holdsNul,
  measureJson,
  parseStrictJsonInSteps,
  runToEnd,
  type Steps,
  type StrictJson,
} from '@countersign/engine'
import { type JsonValue, LIMITS, ROUTES, type Route } from '@countersign/protocol'
import { z } from 'zod'
import { ApiError } from '../base/api-error.js'
import { firstFaults } from './first-faults.js'

/** The value of a body, or 400. */
export function* readJson(bytes: Uint8Array, route: JsonRules = {}): Steps<JsonValue> {
  const text = decode(bytes)
  yield
  const json = yield* parseStrictJsonInSteps(text, limitsOf(route))
  yield
  return storable(text, json)
}

type JsonRules = Pick<Route, 'anyData'>

/** Up to here a body is not measured: as objects it takes at most so many times its length. */
const UNMEASURED_BYTES = 256 * 1024
const MOST_PER_BYTE = 20

/** How many values a body may hold, and how many different names its members may have. */
export interface BodyLimits {
  readonly values: number
  readonly names: number
}

/** What a body may hold that is parsed in one piece on the main thread: about 30 ms. */
export const READ_HERE: BodyLimits = { values: LIMITS.bodyValues, names: LIMITS.bodyNames }
/** What one may hold that is read in a thread. */
export const READ_BESIDE: BodyLimits = { values: LIMITS.recordedBodyValues, names: Number.POSITIVE_INFINITY }

/** About what a body takes in memory once it is parsed. 400 where it holds too much. */
export function* parsedBytes(body: Uint8Array, most: BodyLimits): Steps<number> {
  if (body.length <= UNMEASURED_BYTES) return body.length * MOST_PER_BYTE
  const { values, names, bytes } = yield* measureJson(body)
  if (names > most.names)
    throw new ApiError('INVALID_REQUEST', {
      detail: `body: its members have more than ${most.names} different names; send lists, or several requests`,
    })
  if (values > most.values)
    throw new ApiError('INVALID_REQUEST', {
      detail: `body: it has more than ${most.values} values; send them in several requests`,
    })
  return bytes
}

const limitsOf = ({ anyData }: JsonRules) => ({ maxDepth: LIMITS.jsonDepth, anyData: anyData === true })

function storable(text: string, json: StrictJson): JsonValue {
  if (!json.ok) throw new ApiError('INVALID_REQUEST', { detail: `body: ${json.problem}` })
  // PostgreSQL cannot store it, and a reader in C would stop at it.
  if (holdsNul(text)) throw new ApiError('INVALID_REQUEST', { detail: 'body: a string contains a NUL character' })
  return json.value
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new ApiError('INVALID_REQUEST', { detail: 'the body is not UTF-8' })
  }
}

/** What a shape makes of a part of a request, or 400 with its first faults. */
export function* checkedInSteps(schema: z.ZodType, value: unknown, where: 'path' | 'query' | 'body'): Steps<unknown> {
  const read = shaped(schema, value)
  if (read !== REFUSED) return read
  const faults = yield* firstFaults(schema, value)
  const errors = faults.map(({ path, message }) => ({ path: [where, ...path].join('.'), message }))
  const first = errors[0]
  throw new ApiError('INVALID_REQUEST', { detail: `${first?.path}: ${first?.message}`, errors })
}

/** The same in one piece, for what is small or read in a thread. */
export const checked = (schema: z.ZodType, value: unknown, where: 'path' | 'query' | 'body'): unknown =>
  runToEnd(checkedInSteps(schema, value, where))

/** A large shape takes a tenth of a second to compile. At the start, nobody waits for it. */
export function warmShapes(): void {
  const routes: readonly Route[] = Object.values(ROUTES)
  for (const { body } of routes) if (body !== undefined) compiled(body)
}

export const REFUSED = z.core.INVALID

/** What a shape makes of a value, or `REFUSED`. */
export const shaped = (schema: z.ZodType, value: unknown): unknown => compiled(schema)(value)

/** Code made from each shape when it is first asked for. It says what a value becomes, or that it is refused. */
const COMPILED = new WeakMap<z.ZodType, Shaping>()
type Shaping = (value: unknown) => unknown

function compiled(schema: z.ZodType): Shaping {
  const known = COMPILED.get(schema)
  if (known !== undefined) return known
  const made = z.core.compileFn(schema)
  COMPILED.set(schema, made)
  return made
}
