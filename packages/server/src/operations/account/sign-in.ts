import { LIMITS } from '@countersign/protocol'
import type { OpenContext } from '../../context.js'
import { makeId, makeToken } from '../../crypto/secrets.js'
import { setSessionCookies } from '../../session-cookies.js'
import type { Queryable } from '../../store/database.js'
import { insertRefreshToken } from '../../store/refresh-tokens.js'

const REFRESH_MS = LIMITS.refreshTokenDays * 24 * 3_600_000

/** Starts a dashboard session: a refresh token kept as a hash, an access token kept nowhere, both as cookies. */
export async function signIn(
  ctx: OpenContext,
  sql: Queryable,
  user: { tenantId: string; userId: string },
): Promise<void> {
  const now = ctx.clock()
  const refresh = makeToken(ctx.random)
  const refreshId = makeId(ctx.random, 'rt')
  await insertRefreshToken(sql, {
    ...user,
    refreshId,
    hash: refresh.hash,
    now,
    expiresAt: new Date(now.getTime() + REFRESH_MS),
  })
  const access = await ctx.accounts.accessTokens.issue({ ...user, refreshId }, now)
  setSessionCookies(ctx.replyHeaders, { access, refresh: refresh.raw }, ctx.accounts.secureCookies)
}
