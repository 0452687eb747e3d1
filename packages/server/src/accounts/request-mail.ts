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
import { type AccountLimit, takeAll } from './limits.js'

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
  const limits = [`${limit}_email`, `${limit}_ip`] as const satisfies readonly AccountLimit[]
  const within = await takeAll(ctx, [
    [limits[0], key],
    [limits[1], addressKey(ctx.request.clientAddress)],
  ])
  // An address that no account can have, so that a refused request does the same work.
  const target = within && parsed.success ? key : ''
  const mailId = makeId(ctx.app.random, 'mail')
  await inEntrance(ctx, (sql) => queueMailByEmail(sql, { mailId, emailKey: target, kind }))
  if (kind === 'reset') {
    const audited = { emailKey: target, action: 'password_reset_requested' } as const
    await inEntrance(ctx, (sql) => auditByEmail(sql, ctx, audited))
  }
  ctx.app.accounts.mail.wake()
}
