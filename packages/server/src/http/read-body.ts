import { LIMITS } from '@countersign/protocol'
import { ApiError } from '../api-error.js'

/** A body longer than announced, too long, or too slow ends the connection: what is left of it is not read. */
const CLOSE = { connection: 'close' }

/** The whole body as text, or an error: never a part of it. */
export async function readBody(request: Request, options: { maxBytes: number; maxSeconds?: number }): Promise<string> {
  requireJson(request.headers)
  const announced = contentLength(request.headers)
  if (announced !== null && announced > options.maxBytes) throw new ApiError('BODY_TOO_LARGE', {}, CLOSE)
  const reading = announced === null ? readStream(request, options.maxBytes) : readAtOnce(request, options.maxBytes)
  return decode(await withinSeconds(reading, options.maxSeconds ?? LIMITS.bodySeconds))
}

/** Whether a request says or shows that it has a body. */
export function hasBody(request: Request): boolean {
  const { headers } = request
  return (contentLength(headers) ?? 0) > 0 || headers.has('transfer-encoding')
}

/** One media type, no encodings: what cannot be read exactly is refused, not guessed. */
function requireJson(headers: Headers): void {
  const type = headers.get('content-type') ?? ''
  if (!/^application\/json(\s*;\s*charset="?utf-8"?)?\s*$/i.test(type))
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', {}, CLOSE)
  const encoding = headers.get('content-encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', {}, CLOSE)
}

function contentLength(headers: Headers): number | null {
  const value = headers.get('content-length')
  return value !== null && /^[0-9]+$/.test(value) ? Number(value) : null
}

async function readAtOnce(request: Request, maxBytes: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(await request.arrayBuffer().catch(broken))
  if (bytes.byteLength > maxBytes) throw new ApiError('BODY_TOO_LARGE', {}, CLOSE)
  return bytes
}

async function readStream(request: Request, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = request.body?.getReader()
  while (reader) {
    const { done, value } = await reader.read().catch(broken)
    if (done) break
    size += value.byteLength
    if (size > maxBytes) {
      void reader.cancel().catch(() => {})
      throw new ApiError('BODY_TOO_LARGE', {}, CLOSE)
    }
    chunks.push(value)
  }
  return Buffer.concat(chunks)
}

function broken(): never {
  throw new ApiError('INVALID_REQUEST', { detail: 'the body ended before it was complete' }, CLOSE)
}

function withinSeconds<T>(work: Promise<T>, seconds: number): Promise<T> {
  return new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new ApiError('REQUEST_TIMEOUT', {}, CLOSE)), seconds * 1000)
    const settle =
      <V>(how: (value: V) => void) =>
      (value: V) => {
        clearTimeout(timer)
        how(value)
      }
    work.then(settle(done), settle(fail))
  })
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new ApiError('INVALID_REQUEST', { detail: 'the body is not UTF-8' })
  }
}
