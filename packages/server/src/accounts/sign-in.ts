import { LIMITS } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { makeId, makeToken } from '../base/crypto/secrets.js'
import type { OpenContext } from '../context/context.js'
import { setSessionCookies } from '../entry/session-cookies.js'
import type { Tx } from '../postgres/sql.js'
import { insertRefreshToken } from '../store/accounts/refresh-tokens.js'

const REFRESH_SECONDS = LIMITS.refreshTokenDays * 24 * 3_600
/** Characters of what the browser says it is. */
const MOST_OF_BROWSER = 200

/** Who signs in, and by what. */
export interface Proven {
  readonly tenantId: string
  readonly userId: string
  /** Of the password that was proven; null where something else was. */
  readonly passwordHash: string | null
  readonly method: string
  readonly lifeSeconds?: number
}

/**
 * Starts a dashboard session: a refresh token stored as a hash, an access token stored nowhere, both as cookies. 401 when the
 * password that was proven is no longer the user's, or the member was disabled.
 */
export async function signIn(
  ctx: OpenContext,
  tx: Tx,
  { tenantId, userId, passwordHash, method, lifeSeconds = REFRESH_SECONDS }: Proven,
): Promise<void> {
  const refresh = makeToken(ctx.app.random)
  const refreshId = makeId(ctx.app.random, 'rt')
  const isStored = await insertRefreshToken(tx, {
    tenantId,
    userId,
    passwordHash,
    refreshId,
    hash: refresh.hash,
    method,
    ip: ctx.request.clientAddress,
    browser: ctx.request.http.header('user-agent')?.slice(0, MOST_OF_BROWSER) ?? null,
    lifeSeconds,
  })
  if (!isStored) throw new ApiError('UNAUTHENTICATED')
  const access = await ctx.app.accounts.accessTokens.issue({ tenantId, userId, refreshId }, ctx.app.clock())
  setSessionCookies(ctx.request.replyHeaders, { access, refresh: refresh.raw }, ctx.app.accounts.secureCookies)
}
