import type { Input, Reply, Routes } from '@countersign/protocol'
import type { UserContext } from '../../context.js'
import { kill } from '../../sessions/kill.js'
import { insertAuditEntry } from '../../store/audit.js'

/** Kills a session from the dashboard: the agent's next write is refused, wherever it runs. */
export async function killSessionByPerson(
  ctx: UserContext,
  { params, body }: Input<Routes['killSessionByPerson']>,
): Promise<Reply<Routes['killSessionByPerson']>> {
  const { tenantId, userId, email } = ctx
  const reply = await kill(ctx, { sessionId: params.session_id, by: 'dashboard', reason: body.reason })
  await insertAuditEntry(ctx.sql, {
    tenantId,
    at: ctx.clock(),
    action: 'session_killed',
    userId,
    actor: email,
    ip: ctx.clientAddress,
    subject: params.session_id,
    detail: body.reason ?? null,
  })
  return reply
}
