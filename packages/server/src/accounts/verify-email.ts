import type { Input, Reply, Routes } from '@countersign/protocol'
import { addressKey } from '../base/address-key.js'
import { ApiError } from '../base/api-error.js'
import { sha256 } from '../base/crypto/secrets.js'
import { auditPerson } from '../context/audit.js'
import type { OpenContext } from '../context/context.js'
import { markVerified } from '../store/accounts/accounts.js'
import { consumeMailToken } from '../store/accounts/mail.js'
import { requireToken } from './limits.js'

/** Uses the token up; from the next request on the tenant's keys work. */
export async function verifyEmail(
  ctx: OpenContext,
  { body }: Input<Routes['verifyEmail']>,
): Promise<Reply<Routes['verifyEmail']>> {
  await requireToken(ctx, 'token_ip', addressKey(ctx.request.clientAddress))
  await ctx.app.database.transaction('accounts', async (tx) => {
    const owner = await consumeMailToken(tx, { hash: sha256(body.token), kind: 'verify' })
    if (owner === undefined) throw new ApiError('INVALID_TOKEN')
    await markVerified(tx, owner)
    await auditPerson(tx, ctx, { ...owner, action: 'email_verified' })
  })
  return { ok: true }
}
