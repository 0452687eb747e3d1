import type { Input, Reply, Routes } from '@countersign/protocol'
import type { OpenContext } from '../context/context.js'
import { requestMail } from './request-mail.js'
import { requirePasswords } from './what-is-open.js'

/** Always 200: whether an account has the address is not told. */
export async function forgotPassword(
  ctx: OpenContext,
  { body }: Input<Routes['forgotPassword']>,
): Promise<Reply<Routes['forgotPassword']>> {
  requirePasswords(ctx)
  await requestMail(ctx, body.email ?? null, 'reset', 'forgot')
  return { ok: true, mail: ctx.app.accounts.mailDelivery }
}
