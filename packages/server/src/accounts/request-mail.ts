import { addressKey } from '../base/address-key.js'
import { makeId } from '../base/crypto/secrets.js'
import { auditByEmail } from '../context/audit.js'
import type { OpenContext } from '../context/context.js'
import { inEntrance } from '../entry/senders.js'
import { emailKey } from '../store/accounts/accounts.js'
import { queueMailByEmail, type TokenKind } from '../store/accounts/mail.js'
import { takeOrWait } from './limits.js'

/**
 * Queues a mail to the account with this address, if there is one. Malformed (null), unknown, over the limit: the caller
 * cannot distinguish them by work done. Returns after how many seconds the next is accepted; 0: this one was.
 */
export async function requestMail(
  ctx: OpenContext,
  email: string | null,
  kind: TokenKind,
  limit: 'forgot' | 'resend',
): Promise<number> {
  const key = email === null ? '' : emailKey(email)
  const address = addressKey(ctx.request.clientAddress)
  const waitOfAddress = await takeOrWait(ctx, `${limit}_ip`, address)
  const isQuiet = waitOfAddress === 0
  // A sender who has asked too often takes from its own share: it must not use up what the account may get.
  const waitOfEmail = await takeOrWait(ctx, `${limit}_email`, isQuiet ? key : address)
  const waitSeconds = Math.max(waitOfAddress, waitOfEmail)
  // An address that no account can have, so that a refused request does the same work.
  const target = waitSeconds === 0 ? key : ''
  const mailId = makeId(ctx.app.random, 'mail')
  await inEntrance(ctx, (sql) => queueMailByEmail(sql, { mailId, emailKey: target, kind }))
  if (kind === 'reset') {
    const audited = { emailKey: target, action: 'password_reset_requested' } as const
    await inEntrance(ctx, (sql) => auditByEmail(sql, ctx, audited))
  }
  ctx.app.accounts.mail.wake()
  return waitSeconds
}
