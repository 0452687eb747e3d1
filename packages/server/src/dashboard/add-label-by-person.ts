import type { Input, Reply, Routes } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { appendLabel } from '../sessions/append-label.js'
import { insertAuditEntry } from '../store/audit.js'

/** Labels a session from the dashboard; label gates take it into account from the next preflight on. */
export async function addLabelByPerson(
  ctx: UserContext,
  { params, body }: Input<Routes['addLabelByPerson']>,
): Promise<Reply<Routes['addLabelByPerson']>> {
  const { tenantId, userId, email } = ctx.signIn
  const reply = await appendLabel(ctx, params.session_id, body.label)
  await insertAuditEntry(ctx.app.database.sql, {
    tenantId,
    at: ctx.app.clock(),
    action: 'label_added',
    userId,
    actor: email,
    ip: ctx.request.clientAddress,
    subject: params.session_id,
    detail: body.label,
  })
  return reply
}
