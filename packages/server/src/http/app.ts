import type { RequestListener } from 'node:http'
import { ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { type AskedFor, explainArchived } from '../archives/explain-archived.js'
import { addressKey } from '../base/address-key.js'
import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import { readRequest } from '../context/http-request.js'
import { writeReply } from '../context/written-reply.js'
import { type AuthorizationParts, createAuthorization, type Entered } from '../entry/authorize.js'
import { checkKeyBeforeRefusal, requireCheckedKey } from '../entry/recent-key.js'
import { senderAt } from '../entry/senders.js'
import { beginInTurn, createTurns } from './begin-in-turn.js'
import { clientAddressBehind } from './client-address.js'
import { createFrame, type Serve } from './frame.js'
import { bodyReaders, handlers as builtHandlers, readsSession, rechecksKey } from './handlers.js'
import { createHeldBodies } from './held-bodies.js'
import { createOpenRequests } from './open-requests.js'
import { registerPages } from './pages.js'
import { maxBodyBytes, parseInput } from './parse-input.js'
import { announcedBytes, hasBody } from './read-body.js'
import { createRouter } from './router.js'
import { openDashboard } from './serve-dashboard.js'

export interface AppParts extends AuthorizationParts {
  /** Checks every reply against the route's shape, for tests. */
  checkReplies?: boolean
  handlers?: Readonly<Partial<Record<RouteName, AnyHandler>>>
}

/** What the loop below sees of a handler; `handlers.ts` has checked each against its own route. */
type AnyHandler = (ctx: never, input: never) => Promise<unknown>

/**
 * What happens to every request, in order: authenticate, throttle, parse, operate, reply.
 * So refusals come in this order: 401, 403, 429, 400 (and 408, 413, 415), 404, 409.
 */
export function createApp(parts: AppParts): RequestListener {
  const router = createRouter<Serve>()
  const openRequests = createOpenRequests(parts)
  const frame = createFrame(parts, openRequests)
  const turns = createTurns()
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

  const serve = (name: RouteName, route: Route, handler: AnyHandler) => {
    const reader = name in bodyReaders ? bodyReaders[name as keyof typeof bodyReaders] : undefined
    return frame(name, async (open, params) => {
      const stopReason = parts.stopReason()
      if (stopReason !== null) throw stopped(stopReason)
      const sessionId = readsSession.has(name) ? params.session_id : undefined
      const ctx = await authorize(open, route, { sessionId, rechecksKey: rechecksKey.has(name) })
      if (ctx.tenant !== undefined) openRequests.prove(open.request, ctx.tenant.tenantId)
      const owner = ctx.tenant?.tenantId ?? addressKey(open.request.clientAddress)
      let reply: unknown
      let input: Awaited<ReturnType<typeof parseInput>> | undefined
      try {
        const counted = countBody(ctx, route)
        if (counted !== null) await counted
        try {
          input = await parseInput(route, open.request.http, params, {
            owner,
            bodies,
            turns,
            read: reader && ((bytes) => reader(ctx as never, bytes)),
          })
        } finally {
          settleBody(ctx, route)
        }
        if (route.workflows && !parts.config.workflows) throw new ApiError('WORKFLOWS_DISABLED')
        if (route.method === 'GET' && open.request.http.incoming.socket?.destroyed) throw new ApiError('BUSY')
        reply = await handler(ctx as never, input as never)
      } catch (error) {
        await checkKeyBeforeRefusal(ctx.recentKey)
        throw ctx.tenant === undefined ? error : await explainArchived(error, ctx as Context, askedFor(params, input))
      } finally {
        bodies.release(open.request.http.incoming)
      }
      requireCheckedKey(ctx.recentKey, name)
      const body = writeReply(reply)
      // As it goes over the wire: a member that is undefined is not written.
      if (parts.checkReplies) route.reply.parse(JSON.parse(body))
      return { status: route.status ?? 200, body, headers: JSON_HEADERS, owner }
    })
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
  return beginInTurn(begin, (incoming) => senderAt(incoming, () => clientAddress(incoming)), turns)
}

/** The session and workflow that a request names: in its path, or in the body that creates a session. */
function askedFor(params: Readonly<Record<string, string>>, input: unknown): AskedFor {
  const { body } = (input ?? {}) as { body?: { workflow?: { workflow_id?: unknown } } }
  const created = body?.workflow?.workflow_id
  const workflow = params.workflow_id ?? (typeof created === 'string' ? created : undefined)
  return { session: params.session_id, workflow }
}

/** Another instance may reply: where one is newer than another, or has another clock, there are several. */
const stopped = (detail: string) => new ApiError('UNAVAILABLE', { detail }, { 'retry-after': '1' })

const JSON_HEADERS = { 'content-type': 'application/json' }
