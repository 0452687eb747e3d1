import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { sha256 } from '../base/crypto/secrets.js'
import type { OpenContext } from '../context/context.js'
import { markVerified } from '../store/accounts/accounts.js'
import { consumeMailToken } from '../store/accounts/mail.js'
import { insertAuditEntry } from '../store/audit.js'
import { addressKey, requireAll } from './limits.js'

/** Uses the token up; from the next request on the tenant's keys work. */
export async function verifyEmail(
  ctx: OpenContext,
  { body }: Input<Routes['verifyEmail']>,
): Promise<Reply<Routes['verifyEmail']>> {
  await requireAll(ctx, [['token_ip', addressKey(ctx.request.clientAddress)]])
  const now = ctx.app.clock()
  await ctx.app.database.transaction('accounts', async (tx) => {
    const owner = await consumeMailToken(tx, { hash: sha256(body.token), kind: 'verify', now })
    if (owner === undefined) throw new ApiError('INVALID_TOKEN')
    await markVerified(tx, { ...owner, now })
    await insertAuditEntry(tx, {
      ...owner,
      action: 'email_verified',
      at: now,
      actor: owner.email,
      ip: ctx.request.clientAddress,
    })
  })
  return { ok: true }
}
