import { LIMITS } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { makeId, makeToken } from '../base/crypto/secrets.js'
import type { OpenContext } from '../context/context.js'
import { setSessionCookies } from '../entry/session-cookies.js'
import type { Queryable } from '../postgres/sql.js'
import type { Credentials } from '../store/accounts/accounts.js'
import { insertRefreshToken } from '../store/accounts/refresh-tokens.js'

const REFRESH_SECONDS = LIMITS.refreshTokenDays * 24 * 3_600

/**
 * Starts a dashboard session: a refresh token stored as a hash, an access token stored nowhere, both as cookies. 401 when the
 * password that was proven is no longer the user's.
 */
export async function signIn(
  ctx: OpenContext,
  sql: Queryable,
  { tenantId, userId, passwordHash }: Credentials,
): Promise<void> {
  const refresh = makeToken(ctx.app.random)
  const refreshId = makeId(ctx.app.random, 'rt')
  const isStored = await insertRefreshToken(sql, {
    tenantId,
    userId,
    passwordHash,
    refreshId,
    hash: refresh.hash,
    lifeSeconds: REFRESH_SECONDS,
  })
  if (!isStored) throw new ApiError('UNAUTHENTICATED')
  const access = await ctx.app.accounts.accessTokens.issue({ tenantId, userId, refreshId }, ctx.app.clock())
  setSessionCookies(ctx.request.replyHeaders, { access, refresh: refresh.raw }, ctx.app.accounts.secureCookies)
}
