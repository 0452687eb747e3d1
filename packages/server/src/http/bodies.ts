import type { Readable } from 'node:stream'
import { LIMITS, type Route } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { HttpRequest } from '../context/http-request.js'

/** What is left of the body is not read. */
const CLOSE = { connection: 'close' }

/** What stops a session, a workflow, an agent or a key must not fail because of its body: whatever comes is taken. */
export const takesAnyBody = ({ lenientBody, throttle }: Route): boolean => lenientBody === true && throttle === 'stop'

/** How long the body of a request to this route may be. */
export const maxBodyBytes = (route: Route): number =>
  route.auth === 'none' || takesAnyBody(route) ? LIMITS.openBodyBytes : LIMITS.bodyBytes

/** Whether a request says that it has a body. */
export const hasBody = (request: HttpRequest): boolean =>
  (announcedBytes(request) ?? 0) > 0 || request.header('transfer-encoding') !== null

export function announcedBytes(request: HttpRequest): number | null {
  const value = request.header('content-length')
  return value !== null && /^[0-9]+$/.test(value) ? Number(value) : null
}

/** One media type, no encodings: what cannot be read exactly is refused, not guessed. */
export function checkBodyHeaders(route: Route, request: HttpRequest): void {
  if (route.body === undefined) {
    if (hasBody(request)) throw new ApiError('INVALID_REQUEST', { detail: 'this path accepts no body' }, CLOSE)
    return
  }
  if (route.lenientBody && !hasBody(request)) return
  const type = request.header('content-type') ?? ''
  const encoding = request.header('content-encoding') ?? 'identity'
  if (!/^application\/json(\s*;\s*charset="?utf-8"?)?\s*$/i.test(type) || encoding.toLowerCase() !== 'identity')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', {}, CLOSE)
  if ((announcedBytes(request) ?? 0) > maxBodyBytes(route)) throw new ApiError('BODY_TOO_LARGE', {}, CLOSE)
}

/** The bodies that a process reads and works on at once. */
const MOST_BYTES = 64 * 1024 * 1024
/** Those of most requests. They are not counted, so that they are never refused because others send large ones. */
const SMALL_BYTES = 16 * 1024

export interface BodiesInFlight {
  /** Counts a body until `release`. Throws 503 when there are too many. */
  take(bytes: number): { release(): void }
  readonly bytes: () => number
}

export function createBodiesInFlight(): BodiesInFlight {
  let held = 0
  return {
    take: (bytes) => {
      if (bytes <= SMALL_BYTES) return { release: () => {} }
      if (held + bytes > MOST_BYTES) throw tooMany()
      held += bytes
      return {
        release: () => {
          held -= bytes
        },
      }
    },
    bytes: () => held,
  }
}

const tooMany = () =>
  new ApiError(
    'BUSY',
    { detail: 'too many large bodies are being read at once; send fewer at a time' },
    { 'retry-after': '1', ...CLOSE },
  )

/** How long what stops something waits for its body. */
const STOP_BODY_MS = 1_000

/** The body of a route that takes any: null where it is too long or too slow. */
export function readWhatComes(body: Readable): Promise<Buffer | null> {
  return new Promise((done) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const finish = (read: Buffer | null) => {
      clearTimeout(timer)
      body.removeAllListeners('data').resume()
      done(read)
    }
    const timer = setTimeout(() => finish(null), STOP_BODY_MS)
    body.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      chunks.push(chunk)
      if (bytes > LIMITS.openBodyBytes) finish(null)
    })
    body.once('end', () => finish(Buffer.concat(chunks)))
    body.once('error', () => finish(null))
  })
}
