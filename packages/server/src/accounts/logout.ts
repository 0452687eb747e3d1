import type { Reply, Routes } from '@countersign/protocol'
import { sha256 } from '../base/crypto/secrets.js'
import { auditPerson } from '../context/audit.js'
import type { OpenContext } from '../context/context.js'
import { inEntrance } from '../entry/senders.js'
import { clearSessionCookies, readSessionCookies } from '../entry/session-cookies.js'
import { type RefreshName, revokeRefreshToken } from '../store/accounts/refresh-tokens.js'

/**
 * Revokes the refresh token, and with it every access token issued under it: the one that the browser sent, and the one
 * that its access token names, since either cookie may have been lost. Signing out twice is no error.
 */
export async function logout(ctx: OpenContext): Promise<Reply<Routes['logout']>> {
  const { secureCookies, accessTokens } = ctx.app.accounts
  const { access, refresh } = readSessionCookies(ctx.request.http.header('cookie'), secureCookies)
  const claims = access === undefined ? null : await accessTokens.read(access, ctx.app.clock())
  const names: RefreshName[] = refresh === undefined ? [] : [{ tokenHash: sha256(refresh) }]
  if (claims !== null && claims !== 'expired') names.push(claims)
  for (const name of names) {
    const owner = await inEntrance(ctx, (sql) => revokeRefreshToken(sql, name))
    if (owner === undefined) continue
    await inEntrance(ctx, (sql) => auditPerson(sql, ctx, { ...owner, action: 'logout' }))
  }
  clearSessionCookies(ctx.request.replyHeaders, secureCookies)
  return { ok: true }
}
