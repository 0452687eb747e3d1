import type { RequestListener } from 'node:http'
import { ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { addressKey } from '../base/address-key.js'
import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import { readRequest } from '../context/http-request.js'
import { IN_PLACE, NotInPlace } from '../context/in-place.js'
import type { Asked, IsolatedRequest } from '../context/isolation.js'
import { type AuthorizationParts, createAuthorization, type Entered } from '../entry/authorize.js'
import { checkKeyBeforeRefusal } from '../entry/recent-key.js'
import { senderAt } from '../entry/senders.js'
import { beginInTurn } from './begin-in-turn.js'
import { clientAddressBehind } from './client-address.js'
import { createFrame, type Serve } from './frame.js'
import { handlers as builtHandlers, isIsolated, isSlow, readsSession, rechecksKey } from './handlers.js'
import { createHeldBodies } from './held-bodies.js'
import { createOpenRequests } from './open-requests.js'
import { type AnyHandler, operate } from './operate.js'
import { registerPages } from './pages.js'
import { maxBodyBytes, readSent } from './parse-input.js'
import { announcedBytes, hasBody } from './read-body.js'
import { createRouter } from './router.js'
import { openDashboard } from './serve-dashboard.js'

export interface AppParts extends AuthorizationParts {
  /** Checks every reply against the route's shape, for tests. */
  checkReplies?: boolean
  handlers?: Readonly<Partial<Record<RouteName, AnyHandler>>>
}

/**
 * What happens to every request, in order: authenticate, throttle, parse, operate, reply.
 * So refusals come in this order: 401, 403, 429, 400 (and 408, 413, 415), 404, 409, 422.
 */
export function createApp(parts: AppParts): RequestListener {
  const router = createRouter<Serve>()
  const openRequests = createOpenRequests(parts)
  const frame = createFrame(parts, openRequests)
  const bodies = createHeldBodies(parts.memories)
  const { authorize, refuse } = createAuthorization(parts)
  const handlers: Readonly<Partial<Record<RouteName, AnyHandler>>> = parts.handlers ?? builtHandlers

  /** Counts a body before it is read: as long as announced, otherwise as long as it may be until it is read. */
  const countBody = ({ tenant, request }: Entered, route: Route): Promise<void> | null => {
    if (tenant === undefined || route.body === undefined || !hasBody(request.http)) return null
    const most = maxBodyBytes(route)
    const announced = announcedBytes(request.http)
    const bytes = Math.min(announced ?? most, most)
    const sent = { tenant, throttle: route.throttle, bytes, held: announced === null }
    return parts.byteQuota.take(sent, request.replyHeaders)
  }

  /** A body that did not come whole counts as long as it may be, where no length was announced. */
  const settleBody = ({ tenant, request }: Entered, route: Route): void => {
    if (tenant === undefined || route.body === undefined || !hasBody(request.http)) return
    if (announcedBytes(request.http) !== null) return
    const held = maxBodyBytes(route)
    parts.byteQuota.settle(tenant, { held, bytes: request.http.bodyBytes || held })
  }

  /** In place where that takes a few milliseconds at most, otherwise in a thread. */
  const answer = async (handler: AnyHandler, ctx: Entered, asked: Asked): Promise<string | Buffer> => {
    const isShort = !isIsolated.has(asked.route) && (asked.body?.length ?? 0) <= IN_PLACE.bodyBytes
    if (ctx.tenant === undefined) return operate(handler, ctx, asked)
    if (isShort) {
      try {
        return await operate(handler, ctx, asked)
      } catch (error) {
        if (!(error instanceof NotInPlace)) throw error
      }
    }
    await checkKeyBeforeRefusal(ctx.recentKey)
    const options = { isSlow: isSlow.has(asked.route), isOwed: ROUTES[asked.route].throttle === 'evidence' }
    const { session_id } = asked.params
    if (session_id !== undefined && ROUTES[asked.route].method !== 'GET') parts.sessions.forget(session_id)
    return parts.isolation.answer(isolated(ctx as Context, asked), options)
  }

  const serve = (name: RouteName, route: Route, handler: AnyHandler) =>
    frame(name, async (open, params) => {
      const stopReason = parts.stopReason()
      if (stopReason !== null) throw stopped(stopReason)
      const { http } = open.request
      const sessionId = readsSession.has(name) ? params.session_id : undefined
      const ctx = await authorize(open, route, { sessionId, rechecksKey: rechecksKey.has(name) })
      if (ctx.tenant !== undefined) openRequests.prove(open.request, ctx.tenant.tenantId)
      const owner = ctx.tenant?.tenantId ?? addressKey(open.request.clientAddress)
      try {
        const sent = await readCounted(ctx, route, owner)
        if (route.method === 'GET' && http.incoming.socket?.destroyed) throw new ApiError('BUSY')
        const body = await answer(handler, ctx, { route: name, params, query: http.query, body: sent })
        // As it goes over the wire: a member that is undefined is not written.
        if (parts.checkReplies) route.reply.parse(JSON.parse(String(body)))
        return { status: route.status ?? 200, body, headers: JSON_HEADERS, owner }
      } catch (error) {
        await checkKeyBeforeRefusal(ctx.recentKey)
        throw error
      } finally {
        bodies.release(http.incoming)
      }
    })

  const readCounted = async (ctx: Entered, route: Route, owner: string): Promise<Uint8Array | null> => {
    const counted = countBody(ctx, route)
    if (counted !== null) await counted
    try {
      return await readSent(route, ctx.request.http, { owner, bodies })
    } finally {
      settleBody(ctx, route)
    }
  }

  const methodsByPath = new Map<string, Route[]>()
  for (const [name, route] of Object.entries(ROUTES) as [RouteName, Route][]) {
    const handler = handlers[name]
    if (handler === undefined) continue
    router.add(route.method, route.path, serve(name, route, handler))
    methodsByPath.set(route.path, [...(methodsByPath.get(route.path) ?? []), route])
  }
  registerPages(router, parts, frame)
  for (const [path, routes] of methodsByPath) {
    const allow = routes.map((route) => route.method).join(', ')
    router.add(
      '*',
      path,
      frame('unknown', (open) => refuse(open, new ApiError('METHOD_NOT_ALLOWED', {}, { allow }))),
    )
  }
  const dashboard = openDashboard(parts.config.dashboardFolder)
  const page = frame(
    'dashboard',
    async (open) => dashboard(open.request.http) ?? refuse(open, new ApiError('NOT_FOUND')),
  )
  const nowhere = frame('unknown', (open) => refuse(open, new ApiError('NOT_FOUND')))
  const noPath = frame('unknown', (open) =>
    refuse(open, new ApiError('INVALID_REQUEST', { detail: 'the request target has no path' })),
  )
  const begin: RequestListener = (incoming, outgoing) => {
    const request = readRequest(incoming)
    const { method, path } = request
    const found = path === null ? null : router.find(method, path)
    const otherwise = path === null ? noPath : method === 'GET' || method === 'HEAD' ? page : nowhere
    const { target, params } = found ?? { target: otherwise, params: {} }
    target(request, outgoing, params).catch((error: unknown) => {
      parts.log.error({ error }, 'a reply could not be sent')
      outgoing.destroy()
    })
  }
  const clientAddress = clientAddressBehind(parts.config.trustedProxies)
  return beginInTurn(begin, (incoming) => senderAt(incoming, () => clientAddress(incoming)))
}

/** What a thread needs of a request. */
function isolated({ tenant, signIn, request }: Context, asked: Asked): IsolatedRequest {
  const { tenantId, quota, keyId, userId } = tenant
  const { id: requestId, clientAddress } = request
  return { ...asked, requestId, clientAddress, tenant: { tenantId, quota, keyId, userId }, signIn }
}

/** Another instance may reply: where one is newer than another, or has another clock, there are several. */
const stopped = (detail: string) => new ApiError('UNAVAILABLE', { detail }, { 'retry-after': '1' })

const JSON_HEADERS = { 'content-type': 'application/json' }
