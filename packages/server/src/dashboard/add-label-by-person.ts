import type { Input, Reply, Routes } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { appendLabel } from '../sessions/append-label.js'

/** Labels a session from the dashboard; label gates take it into account from the next preflight on. */
export async function addLabelByPerson(
  ctx: UserContext,
  { params, body }: Input<Routes['addLabelByPerson']>,
): Promise<Reply<Routes['addLabelByPerson']>> {
  return appendLabel(ctx, { sessionId: params.session_id, label: body.label, byPerson: true })
}
