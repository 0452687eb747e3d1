import type { IncomingMessage, ServerResponse } from 'node:http'
import { makeId } from '../base/crypto/secrets.js'
import type { Metrics } from '../base/metrics.js'
import type { OpenContext, Services } from '../context/context.js'
import type { HttpRequest } from '../context/http-request.js'
import { ReplyHeaders } from '../context/reply-headers.js'
import { clientAddressBehind } from './client-address.js'
import { errorReply, toApiError } from './error-reply.js'
import type { Reply } from './reply.js'
import type { Params } from './router.js'
import { securityHeaders } from './security-headers.js'

export type Answer = (open: OpenContext, params: Params) => Promise<Reply>
export type Serve = (request: HttpRequest, outgoing: ServerResponse, params: Params) => Promise<void>
export type Frame = (routeName: string, answer: Answer) => Serve

/** Round every answer: request id, time, log line, metrics, headers, and what becomes of an error. */
export function createFrame(services: Services): Frame {
  const { config, database, metrics } = services
  const clientAddress = clientAddressBehind(config.trustedProxies)
  const fixedHeaders = securityHeaders(config.mode)

  const openContext = (request: HttpRequest): OpenContext => {
    const requestId = makeId(services.random, 'req')
    // Each by its name: a spread of this size takes ten times as long, on every request.
    return {
      config: services.config,
      database: services.database,
      metrics: services.metrics,
      plans: services.plans,
      sessions: services.sessions,
      captures: services.captures,
      clock: services.clock,
      random: services.random,
      publicUrl: services.publicUrl,
      accounts: services.accounts,
      isReady: services.isReady,
      sql: database.sql,
      requestId,
      request,
      log: services.log.with({ request_id: requestId }),
      clientAddress: clientAddress(request.incoming.socket.remoteAddress, request.header('x-forwarded-for')),
      replyHeaders: new ReplyHeaders(),
    }
  }

  return (routeName, answer) => {
    const measure = measureAnswers(metrics, routeName)
    return async (request, outgoing, params) => {
      const startedAt = performance.now()
      const open = openContext(request)
      let reply: Reply
      try {
        reply = await answer(open, params)
      } catch (error) {
        reply = failed(open, error)
      }
      const { status, body } = reply
      const length = Buffer.byteLength(body)
      open.replyHeaders.set('x-request-id', open.requestId)
      if (status !== 304) open.replyHeaders.set('content-length', String(length))
      outgoing.writeHead(status, open.replyHeaders.with(reply.headers, fixedHeaders))
      send(outgoing, body, length)
      if (!request.incoming.complete) dropRest(request.incoming)
      const seconds = (performance.now() - startedAt) / 1_000
      measure(status, seconds)
      const ms = Math.round(seconds * 1e5) / 100
      open.log.info({ method: request.method, route: routeName, status, ms }, 'answered')
    }
  }
}

/**
 * In one write: `end` alone would send the end apart from the rest, by the slower call for several pieces.
 * With a byte for each character all are ASCII, and need no encoding.
 */
function send(outgoing: ServerResponse, body: string | Buffer, length: number): void {
  const { socket } = outgoing
  socket?.cork()
  outgoing.write(body, length === body.length ? 'latin1' : 'utf8')
  socket?.uncork()
  outgoing.end()
}

function failed(open: OpenContext, error: unknown): Reply {
  const apiError = toApiError(error)
  if (apiError.status >= 500) open.log.error({ error, code: apiError.code }, 'a request failed')
  return errorReply(apiError)
}

/** How long a client may go on sending what nobody reads, before it loses the connection. */
const DROP_MS = 500

/** The answer came before the body: what is left of it is read and thrown away, so that the connection can be kept. */
function dropRest(incoming: IncomingMessage): void {
  const { socket } = incoming.resume()
  const timer = setTimeout(() => socket.destroySoon(), DROP_MS).unref()
  incoming.once('end', () => clearTimeout(timer))
}

/** Counts and times the answers of a route. */
function measureAnswers(metrics: Metrics, route: string): (status: number, seconds: number) => void {
  const counters = new Map<number, (by: number) => void>()
  let observe: ((seconds: number) => void) | undefined
  return (status, seconds) => {
    const count =
      counters.get(status) ?? metrics.counter('countersign_requests_total', { route, status: String(status) })
    counters.set(status, count)
    count(1)
    observe ??= metrics.histogram('countersign_request_duration_seconds', { route })
    observe(seconds)
  }
}
