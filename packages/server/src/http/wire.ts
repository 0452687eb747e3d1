import type { Socket } from 'node:net'
import { LIMITS } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../base/api-error.js'
import type { Metrics } from '../base/metrics.js'
import { problemOf } from './errors.js'

/** How long each part of a connection's life may take, in milliseconds. Slow readers are the reverse proxy's (docs/guides/operate.md). */
export const SERVER_OPTIONS = {
  bodyLimit: LIMITS.bodyBytes,
  requestTimeout: LIMITS.bodySeconds * 1_000,
  connectionTimeout: 70_000,
  keepAliveTimeout: 65_000,
  maxRequestsPerSocket: 10_000,
  // Who is being served while the process stops is served.
  return503OnClosing: false,
  // A parameter that is too long is refused by its shape, after the key.
  routerOptions: { maxParamLength: 16 * 1024, querystringParser: () => ({}) },
  http: {
    // Refused with the rest, in the same form.
    requireHostHeader: false,
    headersTimeout: 10_000,
    connectionsCheckingInterval: 5_000,
  },
}

/**
 * The path of a request target, and its question. Not read as a URL, which makes another path of some, such as
 * `/x/../metrics`, that a proxy may have let through for what it looked like.
 */
export function pathAndQuery(target: string): string {
  const sent = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]+/i, '')
  return sent.startsWith('/') ? sent : NOWHERE
}

/** No path has this form. */
const NOWHERE = '/\\'

/** Refuses what stands for something else to others, and heads of very many lines. */
export function checkTarget({ open }: FastifyRequest): void {
  const { path, incoming } = open.request.http
  if (path === null) throw new ApiError('INVALID_REQUEST', { detail: 'the request target has no path' })
  if (incoming.headers.host === undefined && incoming.httpVersion === '1.1')
    throw new ApiError('INVALID_REQUEST', { detail: 'the header host is missing' }, CLOSE)
  if (incoming.rawHeaders.length > 2 * LIMITS.headerLines)
    throw new ApiError('INVALID_REQUEST', { detail: `more than ${LIMITS.headerLines} header lines` }, CLOSE)
}

const CLOSE = { connection: 'close' }

/**
 * Whether the fixed parts of a pattern were sent as they are. The router decodes them, and a proxy's rule for a path must
 * hold here, too.
 */
export function isServedAs(pattern: string, { open }: FastifyRequest): boolean {
  const path = open.request.http.path ?? ''
  if (!path.includes('%')) return true
  const sent = path.split('/')
  return pattern.split('/').every((part, at) => part.startsWith(':') || part === sent[at])
}

/** What Node says of a connection on which no request can be read. */
const PROBLEMS: Readonly<Record<string, readonly [ConstructorParameters<typeof ApiError>[0], string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['REQUEST_TIMEOUT', '408 Request Timeout'],
  HPE_HEADER_OVERFLOW: ['INVALID_REQUEST', '431 Request Header Fields Too Large'],
}
const UNREADABLE = ['INVALID_REQUEST', '400 Bad Request'] as const

export const refuseConnection =
  (metrics: Metrics) =>
  (error: Error & { readonly code: string }, socket: Socket): void => {
    metrics.count('countersign_connections_dropped_total', { reason: 'unreadable' })
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    const [code, status] = PROBLEMS[error.code] ?? UNREADABLE
    const body = JSON.stringify(problemOf(new ApiError(code)))
    const head = `HTTP/1.1 ${status}\r\ncontent-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}`
    socket.end(`${head}\r\nconnection: close\r\n\r\n${body}`)
  }
