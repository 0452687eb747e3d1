import { type Bucket, ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { Hono } from 'hono'
import { ApiError } from './api-error.js'
import type { Context, OpenContext, Services, UserContext } from './context.js'
import { makeId } from './crypto/secrets.js'
import { type AuthenticateCookie, authenticateKey, unauthenticated } from './http/authenticate.js'
import { clientAddressBehind } from './http/client-address.js'
import { errorReply, toApiError } from './http/error-reply.js'
import type { KeyUsage } from './http/key-usage.js'
import { parseInput } from './http/parse-input.js'
import { securityHeaders } from './http/security-headers.js'
import { throttle } from './http/throttle.js'
import { handlers as builtHandlers, preloads as builtPreloads, type Preload } from './operations/index.js'
import { registerPages } from './pages.js'
import { takeToken } from './store/buckets.js'

export interface AppParts extends Services {
  keyUsage: KeyUsage
  /** Recognises a signed-in person. Without it every route of the dashboard answers 401. */
  authenticateCookie?: AuthenticateCookie
  /** Checks every answer against the route's shape, for tests. */
  checkReplies?: boolean
  /** False while the server drains. */
  isReady?: () => boolean
  handlers?: Readonly<Partial<Record<RouteName, AnyHandler>>>
  preloads?: Readonly<Partial<Record<RouteName, Preload>>>
}

/** What the loop below sees of a handler; the table in `operations` has checked each against its own route. */
type AnyHandler = (ctx: never, input: never) => Promise<unknown>

/** What @hono/node-server hands over beside the request; absent when `app.fetch` is called directly. */
type Bindings = { incoming?: { socket: { remoteAddress?: string } } }
export type App = Hono<{ Bindings: Bindings }>

/**
 * The way of every request, written once: authenticate, throttle, parse, operate, reply.
 * So refusals come in this order: 401, 403, 429, 400 (and 408, 413, 415), 404, 409.
 */
export function createApp(parts: AppParts): App {
  const app: App = new Hono()
  const step = stepsOf(parts)
  const handlers: Readonly<Partial<Record<RouteName, AnyHandler>>> = parts.handlers ?? builtHandlers
  const preloads = parts.preloads ?? builtPreloads

  const serve = (name: RouteName, route: Route, handler: AnyHandler) =>
    step.around(name, async (open, params) => {
      const ctx = await step.authorize(open, route, () => preloads[name]?.(parts.database.sql, params) ?? null)
      const input = await parseInput(route, open.request, params)
      if (route.workflows && !parts.config.workflows) throw new ApiError('WORKFLOWS_DISABLED')
      const reply = await handler(ctx as never, input as never)
      if (parts.checkReplies) route.reply.parse(reply)
      return new Response(JSON.stringify(reply), { status: route.status ?? 200, headers: JSON_HEADERS })
    })

  const methodsByPath = new Map<string, Route[]>()
  for (const [name, route] of Object.entries(ROUTES) as [RouteName, Route][]) {
    const handler = handlers[name]
    if (handler === undefined) continue
    app.on(route.method, route.path, serve(name, route, handler))
    methodsByPath.set(route.path, [...(methodsByPath.get(route.path) ?? []), route])
  }
  registerPages(app, parts, step.around)
  for (const [path, routes] of methodsByPath) {
    const allow = routes.map((route) => route.method).join(', ')
    app.all(
      path,
      step.around('unknown', (open) => step.refuse(open, new ApiError('METHOD_NOT_ALLOWED', {}, { allow }))),
    )
  }
  app.notFound(step.around('unknown', (open) => step.refuse(open, new ApiError('NOT_FOUND'))))
  return app
}

const JSON_HEADERS = { 'content-type': 'application/json' }

type Params = Readonly<Record<string, string>>
export type Answer = (open: OpenContext, params: Params) => Promise<Response>
/** What Hono hands to a function, as far as it is used here. */
export interface HonoContext {
  env: Bindings | undefined
  req: { raw: Request; param: () => Params }
}
export type Around = (routeName: string, answer: Answer) => (c: HonoContext) => Promise<Response>

function stepsOf(parts: AppParts) {
  const { config, database, keyUsage } = parts
  const clientAddress = clientAddressBehind(config.trustedProxies)
  const keys = { sql: database.sql, keyUsage, quotas: config.quotas }
  const fixedHeaders = Object.entries(securityHeaders(config.mode))

  const openContext = (c: HonoContext, requestId: string): OpenContext => {
    const request = c.req.raw
    return {
      ...parts,
      sql: database.sql,
      requestId,
      request,
      log: parts.log.with({ request_id: requestId }),
      clientAddress: clientAddress(c.env?.incoming?.socket.remoteAddress, request.headers.get('x-forwarded-for')),
      replyHeaders: new Headers(),
    }
  }

  const forTenant = <T extends { tenantId: string }>(open: OpenContext, who: T) => ({
    ...open,
    ...who,
    transaction: ((fn, options) => database.transaction(who.tenantId, fn, options)) as Context['transaction'],
    single: ((fn) => database.single(who.tenantId, fn)) as Context['single'],
  })

  const authorizeKey = async (open: OpenContext, bucket: Bucket, preload: () => ReturnType<Preload> = () => null) => {
    const authorization = open.request.headers.get('authorization')
    const holder = await authenticateKey(keys, { authorization, bucket, preload })
    const { tenantId, quota, userId, preloaded } = holder
    const perMinute = config.quotas[quota][bucket]
    throttle({ bucket, perMinute, taken: holder.taken ?? false, tokens: holder.tokens ?? 0 }, open.replyHeaders)
    return forTenant(open, { tenantId, quota, userId, preloaded })
  }

  const authorizeUser = async (open: OpenContext, bucket: Bucket): Promise<UserContext> => {
    if (!parts.authenticateCookie) throw unauthenticated()
    const who = await parts.authenticateCookie(open)
    const perMinute = config.quotas[who.quota][bucket]
    const took = await takeToken(database.sql, { owner: who.tenantId, bucket, capacity: perMinute, fillSeconds: 60 })
    throttle({ bucket, perMinute, ...took }, open.replyHeaders)
    return forTenant(open, { ...who, preloaded: null })
  }

  const authorize = async (
    open: OpenContext,
    route: Route,
    preload: () => ReturnType<Preload>,
  ): Promise<OpenContext> => {
    const bucket = route.throttle === 'none' ? 'read' : route.throttle
    if (route.auth === 'api_key') return authorizeKey(open, bucket, preload)
    return route.auth === 'cookie' ? authorizeUser(open, bucket) : open
  }

  /** Whoever has no key learns nothing about which paths exist. */
  const refuse = async (open: OpenContext, error: ApiError): Promise<never> => {
    if (new URL(open.request.url).pathname.startsWith('/api/v1/')) await authorizeKey(open, 'read')
    throw error
  }

  /** Round every answer: request id, time, log line, metrics, headers, and what becomes of an error. */
  const around: Around = (routeName, answer) => async (c) => {
    const startedAt = performance.now()
    const open = openContext(c, makeId(parts.random, 'req'))
    const response = await answer(open, c.req.param()).catch((error: unknown) => failed(open, error))
    for (const [name, value] of open.replyHeaders) response.headers.append(name, value)
    for (const [name, value] of fixedHeaders) if (!response.headers.has(name)) response.headers.set(name, value)
    response.headers.set('x-request-id', open.requestId)
    const seconds = (performance.now() - startedAt) / 1000
    parts.metrics.count('countersign_requests_total', { route: routeName, status: String(response.status) })
    parts.metrics.observe('countersign_request_duration_seconds', { route: routeName }, seconds)
    const { method } = open.request
    open.log.info(
      { method, route: routeName, status: response.status, ms: Math.round(seconds * 1e5) / 100 },
      'answered',
    )
    return response
  }

  return { around, authorize, refuse }
}

function failed(open: OpenContext, error: unknown): Response {
  const apiError = toApiError(error)
  if (apiError.status >= 500) open.log.error({ error, code: apiError.code }, 'a request failed')
  return errorReply(apiError)
}
