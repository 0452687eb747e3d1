import type { Input, Reply, Routes } from '@countersign/protocol'
import { addressKey } from '../base/address-key.js'
import { ApiError } from '../base/api-error.js'
import { sha256 } from '../base/crypto/secrets.js'
import { auditPerson } from '../context/audit.js'
import type { OpenContext } from '../context/context.js'
import { emailKey, updatePassword } from '../store/accounts/accounts.js'
import { revokeActiveKeys } from '../store/accounts/api-keys.js'
import { consumeMailToken } from '../store/accounts/mail.js'
import { revokeRefreshTokensOf } from '../store/accounts/refresh-tokens.js'
import { knowBrowser, stranger } from './browser.js'
import { requireToken } from './limits.js'
import { requirePasswords } from './what-is-open.js'

/**
 * Uses the token up, sets the password and signs everyone out, all or nothing. The person who opened an account whose address
 * was not verified need not be the one who reads its mail: the keys that they were given end, too.
 */
export async function resetPassword(
  ctx: OpenContext,
  { body }: Input<Routes['resetPassword']>,
): Promise<Reply<Routes['resetPassword']>> {
  requirePasswords(ctx)
  await requireToken(ctx, 'token_ip', addressKey(ctx.request.clientAddress))
  const passwordHash = await ctx.app.accounts.passwords.hash(body.password, stranger(ctx.request.clientAddress))
  const email = await ctx.app.database.transaction('accounts', async (tx) => {
    const owner = await consumeMailToken(tx, { hash: sha256(body.token), kind: 'reset' })
    if (owner === undefined) throw new ApiError('INVALID_TOKEN')
    await updatePassword(tx, owner, passwordHash)
    await revokeRefreshTokensOf(tx, owner)
    if (!owner.verified) await revokeActiveKeys(tx, owner.tenantId, null)
    const detail = owner.verified ? null : 'the address was not verified: its keys are revoked'
    await auditPerson(tx, ctx, { ...owner, action: 'password_reset', detail })
    return owner.email
  })
  // A person who reads the mail of the account may sign in here, whatever strangers try meanwhile.
  knowBrowser(ctx, emailKey(email))
  return { ok: true }
}
