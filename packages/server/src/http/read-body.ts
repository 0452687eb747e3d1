import type { IncomingMessage } from 'node:http'
import { LIMITS } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { HttpRequest } from '../context/http-request.js'
import { type HeldBodies, SMALL_BODY_BYTES } from './held-bodies.js'
import { isCut } from './parser-hooks.js'

/** A body longer than announced, too long, or too slow ends the connection: what is left of it is not read. */
const CLOSE = { connection: 'close' }

interface ReadOptions {
  readonly bodies: HeldBodies
  /** Whose share a large body counts against. */
  readonly owner: string
  readonly maxBytes: number
  readonly maxSeconds?: number
}

/** The whole body, or an error: never a part of it. */
export async function readBody(request: HttpRequest, options: ReadOptions): Promise<Buffer> {
  const { maxBytes, bodies, owner } = options
  const expected = announcedBytes(request) ?? maxBytes
  if (expected > maxBytes) throw tooLarge()
  const { incoming } = request
  // Most bodies come with their head, and are there once what has been read from the connection is worked off.
  if (!incoming.complete) await nextRound()
  if (!incoming.complete && expected > SMALL_BODY_BYTES) await bodies.beforeReading(incoming, owner, expected)
  const bytes = incoming.complete ? arrived(incoming) : await arriving(incoming, options)
  if (isCut(incoming)) throw tooManyPieces()
  if (bytes.length > maxBytes) throw tooLarge()
  request.bodyBytes = bytes.length
  return bytes
}

/** Whether a request says or shows that it has a body. */
export const hasBody = (request: HttpRequest): boolean =>
  (announcedBytes(request) ?? 0) > 0 || request.header('transfer-encoding') !== null

/** One media type, no encodings: what cannot be read exactly is refused, not guessed. */
export function requireJson(request: HttpRequest): void {
  const type = request.header('content-type') ?? ''
  if (type !== 'application/json' && !/^application\/json(\s*;\s*charset="?utf-8"?)?\s*$/i.test(type))
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', {}, CLOSE)
  const encoding = request.header('content-encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', {}, CLOSE)
}

export function announcedBytes(request: HttpRequest): number | null {
  const value = request.header('content-length')
  return value !== null && /^[0-9]+$/.test(value) ? Number(value) : null
}

const tooLarge = () => new ApiError('BODY_TOO_LARGE', {}, CLOSE)

const tooSlow = () => new ApiError('REQUEST_TIMEOUT', {}, CLOSE)

const incomplete = () => new ApiError('INVALID_REQUEST', { detail: 'the body is incomplete' }, CLOSE)

const tooManyPieces = () =>
  new ApiError('INVALID_REQUEST', { detail: 'the body comes in very many small pieces; send larger ones' }, CLOSE)

const NOTHING = Buffer.alloc(0)

const nextRound = () => new Promise<void>((done) => setImmediate(done))

const arrived = (incoming: IncomingMessage): Buffer => (incoming.read() as Buffer | null) ?? NOTHING

function arriving(
  incoming: IncomingMessage,
  { maxBytes, maxSeconds = LIMITS.bodySeconds }: ReadOptions,
): Promise<Buffer> {
  return new Promise((done, fail) => {
    const chunks: Buffer[] = []
    let size = 0
    const finishReading = () => {
      clearTimeout(timer)
      incoming.off('data', keep).off('end', end).off('error', broken).off('close', broken)
    }
    // What still comes after a refusal is thrown away: nobody listens any more.
    const refuse = (error: ApiError) => {
      finishReading()
      fail(error)
    }
    const keep = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > maxBytes) refuse(tooLarge())
      else if (isCut(incoming)) refuse(tooManyPieces())
    }
    const end = () => {
      finishReading()
      done(Buffer.concat(chunks))
    }
    const broken = () => refuse(incomplete())
    const timer = setTimeout(() => refuse(tooSlow()), maxSeconds * 1_000)
    incoming.on('data', keep).on('end', end).on('error', broken).on('close', broken)
    if (incoming.destroyed) broken()
  })
}
