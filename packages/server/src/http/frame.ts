import type { IncomingMessage, ServerResponse } from 'node:http'
import { addressKey } from '../base/address-key.js'
import { ApiError } from '../base/api-error.js'
import { makeId } from '../base/crypto/secrets.js'
import type { Metrics } from '../base/metrics.js'
import type { OpenContext, RequestScope, Services } from '../context/context.js'
import type { HttpRequest } from '../context/http-request.js'
import { ReplyHeaders } from '../context/reply-headers.js'
import { isStop } from '../entry/stops.js'
import { clientAddressBehind } from './client-address.js'
import type { Reply } from './error-reply.js'
import { errorReply, toApiError } from './error-reply.js'
import type { OpenRequests } from './open-requests.js'
import type { Params } from './router.js'
import { securityHeaders } from './security-headers.js'
import { createReplySender } from './send-reply.js'

export type Answer = (open: OpenContext, params: Params) => Promise<Reply>
export type Serve = (request: HttpRequest, outgoing: ServerResponse, params: Params) => Promise<void>
export type Frame = (routeName: string, answer: Answer) => Serve

/** Around every reply: request id, time, log line, metrics, headers, and what becomes of an error. */
export function createFrame(services: Services, openRequests: OpenRequests): Frame {
  const { config, metrics } = services
  const clientAddress = clientAddressBehind(config.trustedProxies)
  const fixedHeaders = securityHeaders(config.mode)
  const send = createReplySender(services, config.replySeconds)

  const scopeOf = (http: HttpRequest): RequestScope => {
    const id = makeId(services.random, 'req')
    return {
      id,
      http,
      log: services.log.with({ request_id: id }),
      clientAddress: clientAddress(http.incoming),
      replyHeaders: new ReplyHeaders(),
    }
  }

  return (routeName, answer) => {
    const measure = measureAnswers(metrics, routeName)
    const stops = isStop(routeName)
    return async (http, outgoing, params) => {
      const startedAt = performance.now()
      const request = scopeOf(http)
      let reply: Reply
      try {
        openRequests.enter(request, stops)
        reply = await answer({ app: services, request }, params)
      } catch (error) {
        // Refused, and nobody is there to hear it: thousands of clients may leave at the same moment.
        if (error instanceof ApiError && http.incoming.socket?.destroyed) return
        reply = failed(request, error)
      } finally {
        openRequests.leave(request)
      }
      const { status, body } = reply
      const length = Buffer.byteLength(body)
      request.replyHeaders.set('x-request-id', request.id)
      if (status !== 304) request.replyHeaders.set('content-length', String(length))
      // Who is told in time asks another instance next, and never meets a connection that is being closed.
      if (!services.isReady()) outgoing.shouldKeepAlive = false
      outgoing.writeHead(status, request.replyHeaders.with(reply.headers, fixedHeaders))
      send(outgoing, body, { owner: reply.owner ?? addressKey(request.clientAddress), bytes: length })
      if (!http.incoming.complete) dropRest(http.incoming)
      const seconds = (performance.now() - startedAt) / 1_000
      measure(status, seconds)
      const ms = Math.round(seconds * 1e5) / 100
      request.log.info({ method: http.method, route: routeName, status, ms }, 'answered')
    }
  }
}

function failed({ log }: RequestScope, error: unknown): Reply {
  const apiError = toApiError(error)
  if (apiError.status >= 500) log.error({ error, code: apiError.code }, 'a request failed')
  return errorReply(apiError)
}

/** How long a client may go on sending what nobody reads, before it loses the connection. */
const DROP_MS = 500

/** The reply came before the whole body: the rest is read and thrown away, so that the connection can stay open. */
function dropRest(incoming: IncomingMessage): void {
  const { socket } = incoming.resume()
  const timer = setTimeout(() => socket.destroySoon(), DROP_MS).unref()
  incoming.once('end', () => clearTimeout(timer))
}

/** Counts and times the replies of a route. */
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
