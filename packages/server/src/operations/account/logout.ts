import type { Reply, Routes } from '@countersign/protocol'
import type { OpenContext } from '../../context.js'
import { sha256 } from '../../crypto/secrets.js'
import { clearSessionCookies, readSessionCookies } from '../../session-cookies.js'
import { insertAuditEntry } from '../../store/audit.js'
import { revokeRefreshToken } from '../../store/refresh-tokens.js'

/** Revokes the refresh token, and with it every access token issued under it. Signing out twice is no error. */
export async function logout(ctx: OpenContext): Promise<Reply<Routes['logout']>> {
  const { secureCookies } = ctx.accounts
  const { refresh } = readSessionCookies(ctx.request.headers.get('cookie'), secureCookies)
  const now = ctx.clock()
  const owner = refresh === undefined ? undefined : await revokeRefreshToken(ctx.sql, sha256(refresh), now)
  if (owner !== undefined)
    await insertAuditEntry(ctx.sql, { ...owner, action: 'logout', at: now, actor: owner.email, ip: ctx.clientAddress })
  clearSessionCookies(ctx.replyHeaders, secureCookies)
  return { ok: true }
}
