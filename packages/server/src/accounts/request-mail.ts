import { emailSchema } from '@countersign/protocol'
import { z } from 'zod'
import { addressKey } from '../base/address-key.js'
import { makeId } from '../base/crypto/secrets.js'
import { auditByEmail } from '../context/audit.js'
import type { OpenContext } from '../context/context.js'
import { inEntrance } from '../entry/senders.js'
import { emailKey } from '../store/accounts/accounts.js'
import type { MailKind } from '../store/accounts/mail.js'
import { queueMailByEmail } from '../store/accounts/mail.js'
import { takeAll } from './limits.js'

const bodySchema = z.object({ email: emailSchema })

/**
 * Queues a mail to the account with this address, if there is one. Malformed, unknown, over the limit: the caller cannot
 * distinguish them, by reply or by work done.
 */
export async function requestMail(
  ctx: OpenContext,
  body: unknown,
  kind: MailKind,
  limit: 'forgot' | 'resend',
): Promise<void> {
  const parsed = bodySchema.safeParse(body)
  const key = parsed.success ? emailKey(parsed.data.email) : ''
  const address = addressKey(ctx.request.clientAddress)
  const isQuiet = await takeAll(ctx, [[`${limit}_ip`, address]])
  // Whoever has asked too often takes from itself: it must not use up what the account may get.
  const within = await takeAll(ctx, [[`${limit}_email`, isQuiet ? key : address]])
  // An address that no account can have, so that a refused request does the same work.
  const target = isQuiet && within && parsed.success ? key : ''
  const mailId = makeId(ctx.app.random, 'mail')
  await inEntrance(ctx, (sql) => queueMailByEmail(sql, { mailId, emailKey: target, kind }))
  if (kind === 'reset') {
    const audited = { emailKey: target, action: 'password_reset_requested' } as const
    await inEntrance(ctx, (sql) => auditByEmail(sql, ctx, audited))
  }
  ctx.app.accounts.mail.wake()
}
