import { type Bucket, idSchema, type Route } from '@countersign/protocol'
import type { ApiError } from '../base/api-error.js'
import type { Context, OpenContext, Passing, Services, UserContext } from '../context/context.js'
import { takeToken } from '../store/accounts/buckets.js'
import { holdSignIn } from '../store/accounts/refresh-tokens.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { copyRow } from '../store/sessions/session-row.js'
import { authenticateKey, keyHashOf, renewPasses, unauthenticated } from './authenticate.js'
import { authenticateCookie } from './authenticate-cookie.js'
import { checkOrigin } from './check-origin.js'
import type { KeyUsage } from './key-usage.js'
import { createPasses, type Passes } from './prepaid-tokens.js'
import { throttle } from './throttle.js'

export interface AuthorizationParts extends Services {
  keyUsage: KeyUsage
  /** Another memory of busy keys, for tests. */
  passes?: Passes
}

/** How a route is entered, beside who may. */
export interface Way {
  /** The session that is read together with the key. */
  readonly sessionId?: string | undefined
  /** The route proves the key by its write. */
  readonly mayPass?: boolean
}

export interface Authorization {
  /** At once where nothing has to be asked for. */
  authorize(open: OpenContext, route: Route, way: Way): Entered | Promise<Entered>
  /** Throws the error, after asking for the key: whoever has none learns nothing about which paths exist. */
  refuse(open: OpenContext, error: ApiError): Promise<never>
}

type Entered = OpenContext & { readonly passing?: Passing | null }

/** Who asks, and whether they may ask now: 401, 403 and 429 come from here. */
export function createAuthorization(parts: AuthorizationParts): Authorization {
  const { config, database, keyUsage } = parts
  const passes = parts.passes ?? createPasses()
  const keys = { sql: database.sql, keyUsage, passes, quotas: config.quotas }

  /** Each by its name, as in the frame. */
  const forTenant = (
    open: OpenContext,
    { tenantId, quota, keyId, userId, session, passing = null }: Tenancy,
  ): Context => ({
    config: open.config,
    database: open.database,
    metrics: open.metrics,
    plans: open.plans,
    sessions: open.sessions,
    captures: open.captures,
    clock: open.clock,
    random: open.random,
    publicUrl: open.publicUrl,
    accounts: open.accounts,
    isReady: open.isReady,
    log: open.log,
    sql: open.sql,
    requestId: open.requestId,
    request: open.request,
    clientAddress: open.clientAddress,
    replyHeaders: open.replyHeaders,
    tenantId,
    quota,
    keyId,
    userId,
    session,
    passing,
    transaction: (fn, options) => database.transaction(tenantId, fn, options),
    single: (fn) => database.single(tenantId, fn),
  })

  /** Before the path is checked: what is no id names no session. */
  const named = (sessionId: string | undefined) => {
    if (sessionId === undefined) return null
    const known = parts.sessions.find(sessionId)
    return known !== null || idSchema.safeParse(sessionId).success ? { id: sessionId, known } : null
  }

  const byKey = (
    open: OpenContext,
    bucket: Bucket,
    { sessionId, mayPass = false }: Way,
  ): Context | Promise<Context> => {
    const keyHash = keyHashOf(open.request)
    const session = named(sessionId)
    const enter = () => recognised(open, { keyHash, bucket, session })
    return (mayPass ? byPass(open, { keyHash, bucket, known: session?.known ?? null, enter }) : null) ?? enter()
  }

  const recognised = async (
    open: OpenContext,
    { keyHash, bucket, session }: { keyHash: Buffer; bucket: Bucket; session: ReturnType<typeof named> },
  ): Promise<Context> => {
    const holder = await authenticateKey(keys, { keyHash, bucket, session })
    const { tenantId, keyId, quota, userId } = holder
    const perMinute = config.quotas[quota][bucket]
    throttle({ bucket, perMinute, taken: (holder.granted ?? 0) > 0, tokens: holder.tokens ?? 0 }, open.replyHeaders)
    return forTenant(open, { tenantId, quota, keyId, userId, session: holder.session })
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
    if (pass.isDue) void renewPasses(keys, { keyHash, bucket })
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
    const session = copyRow(known)
    if (pass.now > known.now) session.now = pass.now
    return forTenant(open, { tenantId, quota, keyId, userId, session, passing })
  }

  const byCookie = async (open: OpenContext, bucket: Bucket): Promise<UserContext> => {
    const { accessTokens, secureCookies } = parts.accounts
    const cookies = { sql: database.sql, accessTokens, now: open.clock(), secure: secureCookies }
    const signIn = await authenticateCookie(cookies, open.request, open.replyHeaders)
    const { tenantId, userId, email, quota } = signIn
    if (open.request.method !== 'GET') checkOrigin(open.request, open.publicUrl())
    const perMinute = config.quotas[quota][bucket]
    const took = await takeToken(database.sql, { owner: tenantId, bucket, capacity: perMinute, fillSeconds: 60 })
    throttle({ bucket, perMinute, ...took }, open.replyHeaders)
    const ctx = forTenant(open, { tenantId, quota, keyId: null, userId, session: null })
    // A body may come slowly: whoever was signed out meanwhile writes nothing any more.
    const transaction: Context['transaction'] = (fn, options) =>
      ctx.transaction(async (tx) => {
        if (!(await holdSignIn(tx, signIn, open.clock()))) throw unauthenticated()
        return fn(tx)
      }, options)
    return { ...ctx, transaction, userId, email }
  }

  return {
    authorize: (open, route, way) => {
      const bucket = route.throttle === 'none' ? 'read' : route.throttle
      if (route.auth === 'api_key') return byKey(open, bucket, way)
      if (route.auth === 'cookie') return byCookie(open, bucket)
      checkOrigin(open.request, open.publicUrl())
      return open
    },
    refuse: async (open, error) => {
      if (open.request.path?.startsWith('/api/v1/')) await byKey(open, 'read', {})
      throw error
    },
  }
}

/** For whom a request is. */
type Tenancy = Pick<Context, 'tenantId' | 'quota' | 'keyId' | 'userId' | 'session'> & {
  readonly passing?: Passing | null
}
