import type { Reply, Routes } from '@countersign/protocol'
import { sha256 } from '../base/crypto/secrets.js'
import type { OpenContext } from '../context/context.js'
import { clearSessionCookies, readSessionCookies } from '../entry/session-cookies.js'
import { insertAuditEntry } from '../store/accounts/audit.js'
import { type RefreshName, revokeRefreshToken } from '../store/accounts/refresh-tokens.js'

/**
 * Revokes the refresh token, and with it every access token issued under it: the one that the browser sent, and the one
 * that its access token names, since either cookie may have been lost. Signing out twice is no error.
 */
export async function logout(ctx: OpenContext): Promise<Reply<Routes['logout']>> {
  const { secureCookies, accessTokens } = ctx.accounts
  const { access, refresh } = readSessionCookies(ctx.request.header('cookie'), secureCookies)
  const now = ctx.clock()
  const claims = access === undefined ? null : await accessTokens.read(access, now)
  const names: RefreshName[] = refresh === undefined ? [] : [{ tokenHash: sha256(refresh) }]
  if (claims !== null && claims !== 'expired') names.push(claims)
  for (const name of names) {
    const owner = await revokeRefreshToken(ctx.sql, name, now)
    if (owner === undefined) continue
    await insertAuditEntry(ctx.sql, { ...owner, action: 'logout', at: now, actor: owner.email, ip: ctx.clientAddress })
  }
  clearSessionCookies(ctx.replyHeaders, secureCookies)
  return { ok: true }
}
