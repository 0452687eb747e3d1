import type { Input, Reply, Routes } from '@countersign/protocol'
import type { Context } from '../../context.js'
import { kill } from '../../sessions/kill.js'
import { insertAuditEntry } from '../../store/audit.js'

/** Kills the session, for good. Killing it again changes nothing. */
export async function killSession(
  ctx: Context,
  { params, body }: Input<Routes['killSession']>,
): Promise<Reply<Routes['killSession']>> {
  const wasKilled = ctx.session?.state.status === 'KILLED'
  // What a program says of a session is content of it, here as well.
  const keepsText = ctx.session !== null && ctx.session.captureLevel !== 'metadata'
  const reply = await kill(ctx, { sessionId: params.session_id, by: 'client', reason: body.reason })
  if (!wasKilled) {
    await insertAuditEntry(ctx.sql, {
      tenantId: ctx.tenantId,
      at: ctx.clock(),
      action: 'session_killed',
      userId: ctx.userId,
      keyId: ctx.keyId,
      ip: ctx.clientAddress,
      subject: params.session_id,
      detail: keepsText ? (body.reason ?? null) : null,
    })
  }
  return reply
}
