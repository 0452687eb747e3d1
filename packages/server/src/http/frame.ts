import type { Hono } from 'hono'
import type { OpenContext, Services } from '../context.js'
import { makeId } from '../crypto/secrets.js'
import { ReplyHeaders } from '../reply-headers.js'
import { clientAddressBehind } from './client-address.js'
import { errorReply, toApiError } from './error-reply.js'
import { securityHeaders } from './security-headers.js'

/** What @hono/node-server hands over beside the request; absent when `app.fetch` is called directly. */
type Bindings = { incoming?: { socket: { remoteAddress?: string } } }
export type App = Hono<{ Bindings: Bindings }>

/** What Hono hands to a function, as far as it is used here. */
interface HonoContext {
  env: Bindings | undefined
  req: { raw: Request; param: () => Params }
}
export type Params = Readonly<Record<string, string>>
/** An answer with a text. */
export interface Reply {
  readonly status: number
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}
export type Answer = (open: OpenContext, params: Params) => Promise<Reply | Response>
export type Frame = (routeName: string, answer: Answer) => (c: HonoContext) => Promise<Response>

/** Round every answer: request id, time, log line, metrics, headers, and what becomes of an error. */
export function createFrame(services: Services): Frame {
  const { config, database, metrics } = services
  const clientAddress = clientAddressBehind(config.trustedProxies)
  const fixedHeaders = securityHeaders(config.mode)

  const openContext = ({ env, req }: HonoContext): OpenContext => {
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
      request: req.raw,
      log: services.log.with({ request_id: requestId }),
      clientAddress: clientAddress(env?.incoming?.socket.remoteAddress, req.raw.headers.get('x-forwarded-for')),
      replyHeaders: new ReplyHeaders(),
    }
  }

  return (routeName, answer) => async (c) => {
    const startedAt = performance.now()
    const open = openContext(c)
    const answered = await answer(open, c.req.param()).catch((error: unknown) => failed(open, error))
    open.replyHeaders.set('x-request-id', open.requestId)
    const response = complete(answered, open.replyHeaders, fixedHeaders)
    const seconds = (performance.now() - startedAt) / 1000
    metrics.count('countersign_requests_total', { route: routeName, status: String(response.status) })
    metrics.observe('countersign_request_duration_seconds', { route: routeName }, seconds)
    const ms = Math.round(seconds * 1e5) / 100
    open.log.info({ method: open.request.method, route: routeName, status: response.status, ms }, 'answered')
    return response
  }
}

function failed(open: OpenContext, error: unknown): Reply {
  const apiError = toApiError(error)
  if (apiError.status >= 500) open.log.error({ error, code: apiError.code }, 'a request failed')
  return errorReply(apiError)
}

/** The answer with all of its headers. Its own win over the fixed ones. */
function complete(
  answered: Reply | Response,
  replyHeaders: ReplyHeaders,
  fixedHeaders: Readonly<Record<string, string>>,
): Response {
  if (isReply(answered)) {
    const { status, body, headers } = answered
    return new Response(body, { status, headers: replyHeaders.with(fixedHeaders, headers) })
  }
  const { headers } = answered
  replyHeaders.addTo(headers)
  for (const [name, value] of Object.entries(fixedHeaders)) if (!headers.has(name)) headers.set(name, value)
  return answered
}

const isReply = (answered: Reply | Response): answered is Reply => typeof answered.body === 'string'
