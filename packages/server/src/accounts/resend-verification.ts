import type { Input, Reply, Routes } from '@countersign/protocol'
import type { OpenContext } from '../context/context.js'
import { requestMail } from './request-mail.js'

/** Sends the verification mail once more, at most three times an hour, and never says whether it did. */
export async function resendVerification(
  ctx: OpenContext,
  { body }: Input<Routes['resendVerification']>,
): Promise<Reply<Routes['resendVerification']>> {
  await requestMail(ctx, body, 'verify', 'resend')
  return { ok: true, mail: ctx.app.accounts.mailDelivery }
}
