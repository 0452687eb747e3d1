import { holdsNul, parseStrictJson } from '@countersign/engine'
import { type JsonValue, LIMITS, ROUTES, type Route } from '@countersign/protocol'
import { z } from 'zod'
import { ApiError } from '../base/api-error.js'

/** The value of a body, or 400. */
export function readJson(bytes: Uint8Array, { anyData }: Pick<Route, 'anyData'> = {}): JsonValue {
  const text = decode(bytes)
  const json = parseStrictJson(text, { maxDepth: LIMITS.jsonDepth, anyData: anyData === true })
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
export function checked(schema: z.ZodType, value: unknown, where: 'path' | 'query' | 'body'): unknown {
  const read = shaped(schema, value)
  if (read !== REFUSED) return read
  const errors = faultsOf(schema, value).map(({ path, message }) => ({ path: [where, ...path].join('.'), message }))
  const [first] = errors
  throw new ApiError('INVALID_REQUEST', { detail: `${first?.path}: ${first?.message}`, errors })
}

/** What is wrong with a part of a value, and where. */
export interface Fault {
  readonly path: readonly string[]
  readonly message: string
}

/** The first faults of a value that does not have the shape. */
export const faultsOf = (schema: z.ZodType, value: unknown): Fault[] =>
  (schema.safeParse(value).error?.issues ?? []).slice(0, MOST_FAULTS).map(({ path, message }) => ({
    path: path.map((part) => cut(String(part))),
    message: cut(message),
  }))

const MOST_FAULTS = 10

/** A name or a message may be as long as the body that it is about. */
const cut = (text: string): string => (text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text)

const MOST_CHARACTERS = 500

/** A large shape takes a tenth of a second to compile. At the start, nothing waits for it. */
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
