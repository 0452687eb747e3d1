import { type Bucket, idSchema, ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { Hono } from 'hono'
import { ApiError } from './api-error.js'
import type { Context, OpenContext, Passing, Services, UserContext } from './context.js'
import { authenticateKey, keyHashOf } from './http/authenticate.js'
import { authenticateCookie } from './http/authenticate-cookie.js'
import { checkOrigin } from './http/check-origin.js'
import { type App, createFrame } from './http/frame.js'
import type { KeyUsage } from './http/key-usage.js'
import { registerPages } from './http/pages.js'
import { parseInput } from './http/parse-input.js'
import { createPasses, type Passes } from './http/passes.js'
import { openDashboard } from './http/serve-dashboard.js'
import { throttle } from './http/throttle.js'
import { handlers as builtHandlers, provesKey, readsSession } from './operations/index.js'
import { takeToken } from './store/buckets.js'
import type { SessionRow } from './store/sessions.js'

export interface AppParts extends Services {
  keyUsage: KeyUsage
  /** Checks every answer against the route's shape, for tests. */
  checkReplies?: boolean
  /** Another memory of busy keys, for tests. */
  passes?: Passes
  handlers?: Readonly<Partial<Record<RouteName, AnyHandler>>>
}

/** What the loop below sees of a handler; the table in `operations` has checked each against its own route. */
type AnyHandler = (ctx: never, input: never) => Promise<unknown>

/**
 * The way of every request, written once: authenticate, throttle, parse, operate, reply.
 * So refusals come in this order: 401, 403, 429, 400 (and 408, 413, 415), 404, 409.
 */
export function createApp(parts: AppParts): App {
  const app: App = new Hono()
  const frame = createFrame(parts)
  const { authorize, refuse } = authorizations(parts)
  const handlers: Readonly<Partial<Record<RouteName, AnyHandler>>> = parts.handlers ?? builtHandlers

  const serve = (name: RouteName, route: Route, handler: AnyHandler) =>
    frame(name, async (open, params) => {
      const sessionId = readsSession.has(name) ? params.session_id : undefined
      const ctx = await authorize(open, route, { sessionId, mayPass: provesKey.has(name) })
      const operate = async () => {
        const input = await parseInput(route, open.request, params)
        if (route.workflows && !parts.config.workflows) throw new ApiError('WORKFLOWS_DISABLED')
        return handler(ctx as never, input as never)
      }
      const { passing } = ctx
      const reply = await (passing ? operate().catch((error: unknown) => refusedInOrder(passing, error)) : operate())
      if (passing?.isOpen) throw new Error(`${name} answered somebody whose key nobody has proven`)
      if (parts.checkReplies) route.reply.parse(reply)
      return { status: route.status ?? 200, body: JSON.stringify(reply), headers: JSON_HEADERS }
    })

  const methodsByPath = new Map<string, Route[]>()
  for (const [name, route] of Object.entries(ROUTES) as [RouteName, Route][]) {
    const handler = handlers[name]
    if (handler === undefined) continue
    app.on(route.method, route.path, serve(name, route, handler))
    methodsByPath.set(route.path, [...(methodsByPath.get(route.path) ?? []), route])
  }
  registerPages(app, parts, frame)
  for (const [path, routes] of methodsByPath) {
    const allow = routes.map((route) => route.method).join(', ')
    app.all(
      path,
      frame('unknown', (open) => refuse(open, new ApiError('METHOD_NOT_ALLOWED', {}, { allow }))),
    )
  }
  const dashboard = openDashboard(parts.config.dashboardFolder)
  app.get(
    '*',
    frame('dashboard', async (open) => dashboard(open.request) ?? refuse(open, new ApiError('NOT_FOUND'))),
  )
  app.notFound(frame('unknown', (open) => refuse(open, new ApiError('NOT_FOUND'))))
  return app
}

/** Whoever comes in by a pass is told first whether the key is good. */
async function refusedInOrder(passing: Passing, error: unknown): Promise<never> {
  if (passing.isOpen) await passing.enter()
  throw error
}

const JSON_HEADERS = { 'content-type': 'application/json' }

/** For whom a request is. */
type Tenancy = Pick<Context, 'tenantId' | 'quota' | 'userId' | 'session'> & { readonly passing?: Passing | null }

/** Who asks, and whether they may ask now: 401, 403 and 429 come from here. */
function authorizations(parts: AppParts) {
  const { config, database, keyUsage } = parts
  const passes = parts.passes ?? createPasses()
  const keys = { sql: database.sql, keyUsage, passes, quotas: config.quotas }

  const forTenant = (open: OpenContext, { tenantId, quota, userId, session, passing = null }: Tenancy): Context => ({
    ...open,
    tenantId,
    quota,
    userId,
    session,
    passing,
    transaction: (fn, options) => database.transaction(tenantId, fn, options),
    single: (fn) => database.single(tenantId, fn),
  })

  /** Before the path is checked: what is no id names no session. */
  const named = (sessionId: string | undefined) =>
    sessionId !== undefined && idSchema.safeParse(sessionId).success
      ? { id: sessionId, known: parts.sessions.find(sessionId) }
      : null

  const byKey = async (
    open: OpenContext,
    bucket: Bucket,
    { sessionId, mayPass = false }: { sessionId?: string | undefined; mayPass?: boolean } = {},
  ): Promise<Context> => {
    const keyHash = keyHashOf(open.request.headers.get('authorization'))
    const session = named(sessionId)
    const enter = () => recognised(open, { keyHash, bucket, session })
    return (mayPass ? byPass(open, { keyHash, bucket, known: session?.known ?? null, enter }) : null) ?? enter()
  }

  const recognised = async (
    open: OpenContext,
    { keyHash, bucket, session }: { keyHash: Buffer; bucket: Bucket; session: ReturnType<typeof named> },
  ): Promise<Context> => {
    const holder = await authenticateKey(keys, { keyHash, bucket, session })
    const { tenantId, quota, userId } = holder
    const perMinute = config.quotas[quota][bucket]
    throttle({ bucket, perMinute, taken: (holder.granted ?? 0) > 0, tokens: holder.tokens ?? 0 }, open.replyHeaders)
    return forTenant(open, { tenantId, quota, userId, session: holder.session })
  }

  /** Null when the key has no pass, or this process has not written the session. */
  const byPass = (
    open: OpenContext,
    way: { keyHash: Buffer; bucket: Bucket; known: SessionRow | null; enter: () => Promise<Context> },
  ): Context | null => {
    const { keyHash, bucket, known } = way
    const pass = known === null ? null : passes.find(keyHash, bucket)
    if (known === null || pass === null) return null
    const { tenantId, keyId, quota, userId } = pass.holder
    if (known.tenantId !== tenantId) {
      pass.giveBack()
      return null
    }
    keyUsage.note(tenantId, keyId)
    throttle({ bucket, perMinute: config.quotas[quota][bucket], taken: true, tokens: pass.tokens }, open.replyHeaders)
    const passing: Passing = {
      proof: { keyHash, quota },
      isOpen: true,
      enter: () => {
        passing.isOpen = false
        pass.giveBack()
        return way.enter()
      },
    }
    const session = { ...known, now: known.now > pass.now ? known.now : pass.now }
    return forTenant(open, { tenantId, quota, userId, session, passing })
  }

  const byCookie = async (open: OpenContext, bucket: Bucket): Promise<UserContext> => {
    const { accessTokens, secureCookies } = parts.accounts
    const cookies = { sql: database.sql, accessTokens, now: open.clock(), secure: secureCookies }
    const { tenantId, userId, email, quota } = await authenticateCookie(cookies, open.request, open.replyHeaders)
    if (open.request.method !== 'GET') checkOrigin(open.request, open.publicUrl())
    const perMinute = config.quotas[quota][bucket]
    const took = await takeToken(database.sql, { owner: tenantId, bucket, capacity: perMinute, fillSeconds: 60 })
    throttle({ bucket, perMinute, ...took }, open.replyHeaders)
    return { ...forTenant(open, { tenantId, quota, userId, session: null }), userId, email }
  }

  const authorize = async (
    open: OpenContext,
    route: Route,
    way: Parameters<typeof byKey>[2],
  ): Promise<OpenContext & { passing?: Passing | null }> => {
    const bucket = route.throttle === 'none' ? 'read' : route.throttle
    if (route.auth === 'api_key') return byKey(open, bucket, way)
    if (route.auth === 'cookie') return byCookie(open, bucket)
    checkOrigin(open.request, open.publicUrl())
    return open
  }

  /** Whoever has no key learns nothing about which paths exist. */
  const refuse = async (open: OpenContext, error: ApiError): Promise<never> => {
    if (new URL(open.request.url).pathname.startsWith('/api/v1/')) await byKey(open, 'read')
    throw error
  }

  return { authorize, refuse }
}
