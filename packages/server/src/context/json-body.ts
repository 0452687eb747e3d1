import { holdsNul, parseStrictJsonInSteps, type Steps, type StrictJson } from '@countersign/engine'
import { type JsonValue, LIMITS, ROUTES, type Route } from '@countersign/protocol'
import { z } from 'zod'
import { ApiError } from '../base/api-error.js'
import { measureJson } from './measure-json.js'

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

/** About what a body takes in memory once it is parsed. 400 where it has too many values. */
export function* parsedBytes(body: Uint8Array): Steps<number> {
  if (body.length <= UNMEASURED_BYTES) return body.length * MOST_PER_BYTE
  const { values, bytes } = yield* measureJson(body)
  if (values > LIMITS.bodyValues)
    throw new ApiError('INVALID_REQUEST', {
      detail: `body: it has more than ${LIMITS.bodyValues} values; send them in several requests`,
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

/** What a shape makes of a part of a request, or 400. */
export function checked(schema: z.ZodType, value: unknown, where: 'path' | 'query' | 'body'): unknown {
  const result = compiled(schema).safeParse(value)
  if (result.success) return result.data
  const errors = result.error.issues.slice(0, 20).map((issue) => ({
    path: [where, ...issue.path.map(String)].join('.'),
    message: issue.message,
  }))
  const first = errors[0]
  throw new ApiError('INVALID_REQUEST', { detail: `${first?.path}: ${first?.message}`, errors })
}

/** A large shape takes a tenth of a second to compile. At the start, nobody waits for it. */
export function warmShapes(): void {
  const routes: readonly Route[] = Object.values(ROUTES)
  for (const { body } of routes) if (body !== undefined) compiled(body)
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
