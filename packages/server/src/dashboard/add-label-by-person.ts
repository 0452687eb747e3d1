import type { Input, Reply, Routes } from '@countersign/protocol'
import { audit } from '../context/audit.js'
import type { UserContext } from '../context/context.js'
import { appendLabel } from '../sessions/append-label.js'

/** Labels a session from the dashboard; label gates take it into account from the next preflight on. */
export async function addLabelByPerson(
  ctx: UserContext,
  { params, body }: Input<Routes['addLabelByPerson']>,
): Promise<Reply<Routes['addLabelByPerson']>> {
  const reply = await appendLabel(ctx, params.session_id, body.label)
  await audit(ctx.app.database.sql, ctx, { action: 'label_added', subject: params.session_id, detail: body.label })
  return reply
}
