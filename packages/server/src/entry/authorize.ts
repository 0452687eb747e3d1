import { bucketFor, type PersonRoute, type Route, roleIncludes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context, OpenContext, Services, UserContext } from '../context/context.js'
import { takeToken } from '../store/accounts/buckets.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { authenticateKey, type Keyed, keyHashOf } from './authenticate.js'
import { authenticateCookie } from './authenticate-cookie.js'
import type { ByteQuota } from './byte-quota.js'
import { checkOrigin } from './check-origin.js'
import type { KeyUsage } from './key-usage.js'
import { createPrepaidTokens, type PrepaidTokens } from './prepaid-tokens.js'
import { enterOnRecentKey } from './recent-key.js'
import { noteSender, senderOf } from './senders.js'
import { throttle } from './throttle.js'

export interface AuthorizationParts extends Services {
  keyUsage: KeyUsage
  byteQuota: ByteQuota
  /** Others for tests. */
  prepaidTokens?: PrepaidTokens
}

/** How a route is entered, beside who may. */
export interface EntryOptions {
  /** The session that is looked at together with the key, if this process knows it. */
  readonly sessionId?: string | undefined
  /** The route re-checks the key by its write. */
  readonly rechecksKey?: boolean
}

export interface Authorization {
  /** At once where no statement is needed. */
  authorize(open: OpenContext, route: Route, options: EntryOptions): Entered | Promise<Entered>
  /** Throws the error, after authenticating the key: a caller without one learns nothing about which paths exist. */
  refuse(open: OpenContext, error: ApiError): Promise<never>
}

/** What an operation gets: with a tenant, unless the route needs no sign-in. */
export type Entered = OpenContext & Partial<Pick<Context, 'tenant' | 'recentKey'>>

/** Who asks, and whether they may ask now: 401, 403 and 429 come from here. */
export function createAuthorization(parts: AuthorizationParts): Authorization {
  const { config, database, keyUsage } = parts
  const tokens = parts.prepaidTokens ?? createPrepaidTokens(parts.memories.cache('prepaid_tokens'))
  const tenants = parts.memories.cache<string>('directory')
  const keys = { enter: database.enter, keyUsage, tokens, tenants, quotas: config.quotas }

  const byKey = (open: OpenContext, route: Keyed, { sessionId, rechecksKey = false }: EntryOptions) => {
    const keyHash = keyHashOf(open.request.http)
    const known = sessionId === undefined ? null : parts.sessions.find(sessionId)
    const enter = () => authenticated(open, { keyHash, route, known })
    const entered = rechecksKey && known !== null && enterOnRecentKey(keys, open, { keyHash, route, known, enter })
    return entered || enter()
  }

  const authenticated = async (
    { app, request }: OpenContext,
    { keyHash, route, known }: { keyHash: Buffer; route: Keyed; known: SessionRow | null },
  ): Promise<Context> => {
    const holder = await authenticateKey(keys, { sender: senderOf(request), keyHash, route, known })
    noteSender(request, holder.tenantId)
    const drawn = { taken: (holder.granted ?? 0) > 0, tokens: holder.tokens ?? 0 }
    throttle(bucketFor(config.quotas[holder.quota], route), drawn, request.replyHeaders)
    return { app, request, tenant: holder, signIn: null, session: holder.session, recentKey: null }
  }

  const byCookie = async ({ app, request }: OpenContext, route: PersonRoute): Promise<UserContext> => {
    const { accessTokens, deviceTokens, secureCookies } = parts.accounts
    const cookies = { accessTokens, deviceTokens, now: app.clock(), secure: secureCookies }
    const signIn = await database.enter(senderOf(request), (sql) =>
      authenticateCookie({ sql, ...cookies }, request.http, request.replyHeaders),
    )
    const { tenantId, userId, quota, role } = signIn
    noteSender(request, tenantId)
    if (request.http.method !== 'GET') checkOrigin(request.http, app.publicUrl())
    if (!roleIncludes(role, route.role)) {
      throw new ApiError('ROLE_NEEDED', { detail: `this takes the role ${route.role}; yours is ${role}` })
    }
    const from = bucketFor(config.quotas[quota], route)
    if (from !== null) {
      const take = { owner: tenantId, bucket: from.bucket, capacity: from.perMinute, fillSeconds: 60 }
      throttle(from, await database.enter(tenantId, (sql) => takeToken(sql, take)), request.replyHeaders)
    }
    const tenant = { tenantId, quota, keyId: null, userId, scope: null }
    return { app, request, tenant, signIn, session: null, recentKey: null }
  }

  return {
    authorize: (open, route, options) => {
      if (route.auth === 'api_key') return byKey(open, route, options)
      if (route.auth === 'cookie') return byCookie(open, route)
      checkOrigin(open.request.http, open.app.publicUrl())
      return open
    },
    refuse: async (open, error) => {
      const { method, path } = open.request.http
      const throttle = method === 'GET' || method === 'HEAD' ? 'read' : 'write'
      if (path?.startsWith('/api/v1/')) await byKey(open, { method, throttle }, {})
      throw error
    },
  }
}
