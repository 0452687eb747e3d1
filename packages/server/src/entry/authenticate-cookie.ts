import { unauthenticated } from '../base/api-error.js'
import type { DeviceTokens } from '../base/crypto/device-tokens.js'
import { sha256 } from '../base/crypto/secrets.js'
import type { AccessTokens } from '../base/crypto/tokens.js'
import type { HttpRequest } from '../context/http-request.js'
import type { ReplyHeaders } from '../context/reply-headers.js'
import type { Sql } from '../postgres/sql.js'
import { emailKey } from '../store/accounts/accounts.js'
import { findSignIn, type SignIn } from '../store/accounts/refresh-tokens.js'
import { readDeviceCookie, setDeviceCookie } from './device-cookie.js'
import { readSessionCookies, setSessionCookies } from './session-cookies.js'

export interface CookieAuthentication {
  readonly sql: Sql
  readonly accessTokens: AccessTokens
  readonly deviceTokens: DeviceTokens
  /** The process's time, by which the access token was issued and is read. */
  readonly now: Date
  readonly secure: boolean
}

/**
 * A valid access token, or an expired one with a live refresh token, which renews it in the reply. The refresh token
 * stays as it is, so that requests at the same time all succeed. Signing out ends both at once, on every instance.
 */
export async function authenticateCookie(
  { sql, accessTokens, deviceTokens, now, secure }: CookieAuthentication,
  request: HttpRequest,
  replyHeaders: ReplyHeaders,
): Promise<SignIn> {
  const { access, refresh } = readSessionCookies(request.header('cookie'), secure)
  const claims = access === undefined ? null : await accessTokens.read(access, now)
  if (claims !== null && claims !== 'expired') {
    const signIn = await findSignIn(sql, { refreshId: claims.refreshId, tenantId: claims.tenantId })
    if (signIn === undefined || signIn.userId !== claims.userId) throw unauthenticated()
    return signIn
  }
  if (refresh === undefined) throw unauthenticated()
  const signIn = await findSignIn(sql, { tokenHash: sha256(refresh) })
  if (signIn === undefined) throw unauthenticated()
  setSessionCookies(replyHeaders, { access: await accessTokens.issue(signIn, now) }, secure)
  // A browser that signed in before there were device cookies.
  if (readDeviceCookie(request.header('cookie'), secure) === undefined) {
    setDeviceCookie(replyHeaders, deviceTokens.issue(emailKey(signIn.email)), secure)
  }
  return signIn
}
