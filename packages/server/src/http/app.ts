import type { Readable } from 'node:stream'
import { ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { plainAddress } from '../base/address-key.js'
import { ApiError } from '../base/api-error.js'
import { makeId } from '../base/crypto/secrets.js'
import { groupBy } from '../base/group-by.js'
import type { OpenContext, RequestScope } from '../context/context.js'
import { readRequest } from '../context/http-request.js'
import { type AuthorizationParts, createAuthorization, type Entered } from '../entry/authorize.js'
import { checkKeyBeforeRefusal } from '../entry/recent-key.js'
import { answer } from './answer.js'
import {
  announcedBytes,
  checkBodyHeaders,
  createBodiesInFlight,
  hasBody,
  maxBodyBytes,
  readWhatComes,
  takesAnyBody,
} from './bodies.js'
import { isPage, openDashboard } from './dashboard.js'
import { problemOf, toApiError } from './errors.js'
import { handlers as builtHandlers, readsSession, rechecksKey } from './handlers.js'
import { registerOidc } from './oidc.js'
import type { AnyHandler } from './operate.js'
import { registerPages } from './pages.js'
import { securityHeaders } from './security-headers.js'
import { checkTarget, isServedAs, pathAndQuery, refuseConnection, SERVER_OPTIONS } from './wire.js'

export interface AppParts extends AuthorizationParts {
  /** Checks every reply against the route's shape, for tests. */
  checkReplies?: boolean
  handlers?: Readonly<Partial<Record<RouteName, AnyHandler>>>
  /** How long a client may take, for tests: otherwise those of `SERVER_OPTIONS`. */
  timeouts?: Partial<Record<'headersTimeout' | 'requestTimeout' | 'connectionsCheckingInterval', number>>
}

declare module 'fastify' {
  interface FastifyRequest {
    open: OpenContext
    /** Set once the request is let in. */
    entered: Entered | null
    /** For logs and metrics. */
    routeName: string
  }
}

/**
 * What happens to every request, in order: authenticate, throttle, parse, operate, reply.
 * So refusals come in this order: 401, 403, 429, 400 (and 408, 413, 415), 404, 409, 422.
 */
export function createApp(parts: AppParts): FastifyInstance {
  const { config, metrics } = parts
  const { http, ...options } = SERVER_OPTIONS
  const app = fastify({
    ...options,
    ...parts.timeouts,
    http: { ...http, ...parts.timeouts },
    trustProxy: config.trustedProxies.length > 0 && [...config.trustedProxies],
    genReqId: () => makeId(parts.random, 'req'),
    rewriteUrl: ({ url = '' }) => pathAndQuery(url),
    clientErrorHandler: refuseConnection(metrics),
    // No hook has seen such a request.
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...securityHeaders(config.mode), 'x-request-id': request.id })
      sendProblem(toApiError(error), request, reply)
    },
  })
  app.server.maxConnections = config.maxConnections
  app.server.on('drop', () => metrics.count('countersign_connections_dropped_total', { reason: 'too_many' }))

  begin(app, parts)
  app.setErrorHandler(async (error, request, reply) => {
    const refused = await checkKeyBeforeRefusal(request.entered?.recentKey ?? null).then(
      () => error,
      (entering: unknown) => entering,
    )
    const apiError = toApiError(refused)
    if (apiError.status >= 500)
      request.open.request.log.error({ error: refused, code: apiError.code }, 'a request failed')
    sendProblem(apiError, request, reply)
  })
  measureAnswers(app, parts)
  registerRoutes(app, parts)
  registerPages(app, parts)
  registerOidc(app)
  return app
}

function sendProblem(error: ApiError, _: FastifyRequest, reply: FastifyReply): void {
  reply
    .code(error.status)
    .headers(error.headers)
    .type('application/problem+json')
    .send(JSON.stringify(problemOf(error)))
}

/** What every request has, whatever it asks for, and what every reply says. */
function begin(app: FastifyInstance, parts: AppParts): void {
  const fixedHeaders = Object.entries(securityHeaders(parts.config.mode))
  app.decorateRequest('open')
  app.decorateRequest('entered', null)
  app.decorateRequest('routeName', 'unknown')
  app.addHook('onRequest', (request, reply, done) => {
    const scope: RequestScope = {
      id: request.id,
      http: readRequest(request.raw),
      log: parts.log.with({ request_id: request.id }),
      clientAddress: plainAddress(request.ip),
      replyHeaders: {
        set: (name, value) => void reply.header(name, value),
        appendCookie: (value) => void reply.header('set-cookie', value),
      },
    }
    request.open = { app: parts, request: scope }
    reply.header('x-request-id', request.id)
    checkTarget(request)
    done()
  })
  app.addHook('onSend', (_, reply, __, done) => {
    for (const [name, value] of fixedHeaders) if (!reply.hasHeader(name)) reply.header(name, value)
    // Who is told in time asks another instance next, and never meets a connection that is being closed.
    if (!parts.isReady()) reply.header('connection', 'close')
    done()
  })
}

function measureAnswers(app: FastifyInstance, { metrics }: AppParts): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { routeName: route, method, open } = request
    const { statusCode: status, elapsedTime: ms } = reply
    metrics.count('countersign_requests_total', { route, status: String(status) })
    metrics.observe('countersign_request_duration_seconds', { route }, ms / 1_000)
    open.request.log.info({ method, route, status, ms: Math.round(ms * 100) / 100 }, 'answered')
    done()
  })
}

/** Every route of the protocol, and 405 for other methods of their paths. */
function registerRoutes(app: FastifyInstance, parts: AppParts): void {
  const { authorize, refuse } = createAuthorization(parts)
  const bodies = createBodiesInFlight()
  parts.memories.watch('bodies', bodies.bytes)
  const handlers: Readonly<Partial<Record<RouteName, AnyHandler>>> = parts.handlers ?? builtHandlers

  const enter = async (name: RouteName, route: Route, request: FastifyRequest): Promise<void> => {
    request.routeName = name
    const stopReason = parts.stopReason()
    if (stopReason !== null) throw new ApiError('UNAVAILABLE', { detail: stopReason }, { 'retry-after': '1' })
    const { session_id } = request.params as { session_id?: string }
    const sessionId = readsSession.has(name) ? session_id : undefined
    request.entered = await authorize(request.open, route, { sessionId, rechecksKey: rechecksKey.has(name) })
  }

  /** Before a body is read: whether it may come, and that the tenant may send so much. */
  const admitBody = async (route: Route, { entered, headers }: FastifyRequest, reply: FastifyReply) => {
    if (entered === null) return
    const { http } = entered.request
    // Whatever it says that it is.
    if (takesAnyBody(route)) delete headers['content-type']
    else checkBodyHeaders(route, http)
    if (!hasBody(http)) return
    const most = maxBodyBytes(route)
    const announced = announcedBytes(http)
    const bytes = Math.min(announced ?? most, most)
    const inFlight = bodies.take(bytes)
    reply.raw.once('close', inFlight.release)
    if (entered.tenant === undefined) return
    const { tenant } = entered
    const taken = parts.byteQuota.take(
      { tenant, throttle: route.throttle, bytes, held: announced === null },
      entered.request.replyHeaders,
    )
    // A body that did not come whole counts as long as it may be.
    if (announced === null)
      reply.raw.once('close', () => parts.byteQuota.settle(tenant, { held: most, bytes: http.bodyBytes || most }))
    await taken
  }

  const serve = async (name: RouteName, handler: AnyHandler, request: FastifyRequest): Promise<string | Buffer> => {
    const ctx = request.entered as Entered
    const { http } = ctx.request
    const route: Route = ROUTES[name]
    const body = (request.body ?? null) as Buffer | null
    http.bodyBytes = body?.length ?? 0
    if (route.method === 'GET' && request.raw.destroyed) throw new ApiError('BUSY')
    const params = request.params as Record<string, string>
    const text = await answer(handler, ctx, { route: name, params, query: http.query, body })
    // As it goes over the wire: a member that is undefined is not written.
    if (parts.checkReplies) route.reply.parse(JSON.parse(String(text)))
    return text
  }

  const add = (scope: FastifyInstance, wanted: (route: Route) => boolean) => {
    for (const [name, route] of Object.entries(ROUTES) as [RouteName, Route][]) {
      const handler = handlers[name]
      if (handler === undefined || !wanted(route)) continue
      scope.route({
        method: route.method,
        url: route.path,
        bodyLimit: maxBodyBytes(route),
        onRequest: async (request, reply) => {
          if (!isServedAs(route.path, request)) return refuse(request.open, new ApiError('NOT_FOUND'))
          await enter(name, route, request)
          await admitBody(route, request, reply)
        },
        handler: async (request, reply) => {
          const text = await serve(name, handler, request)
          return reply
            .code(route.status ?? 200)
            .type('application/json')
            .send(text)
        },
      })
    }
  }

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
  add(app, (route) => !takesAnyBody(route))
  app.register(async (stops) => {
    stops.removeAllContentTypeParsers()
    stops.addContentTypeParser('*', (_request: FastifyRequest, body: Readable) => readWhatComes(body))
    add(stops, takesAnyBody)
  })

  for (const [url, routes] of groupBy(Object.values<Route>(ROUTES), ({ path }) => path)) {
    const served = new Set<string>(routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))
    const allow = routes.map(({ method }) => method).join(', ')
    app.route({
      method: app.supportedMethods.filter((method) => !served.has(method)),
      url,
      onRequest: ({ open }) => refuse(open, new ApiError('METHOD_NOT_ALLOWED', {}, { allow })),
      handler: () => {},
    })
  }
  const sendPage = openDashboard(app, parts.config.dashboardFolder)
  // Before a body is read.
  app.addHook('onRequest', (request, _, done) => {
    if (!request.is404) return done()
    const { http } = request.open.request
    if (isPage(http)) return done()
    refuse(request.open, new ApiError('NOT_FOUND')).catch(done)
  })
  app.setNotFoundHandler((request, reply) => {
    request.routeName = 'dashboard'
    return sendPage(reply)
  })
}
