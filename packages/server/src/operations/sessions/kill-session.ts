import type { Input, Reply, Routes } from '@countersign/protocol'
import type { Context } from '../../context.js'
import { advance, changeSession } from '../../sessions/change-session.js'
import { stopReply } from '../../sessions/stop-reply.js'
import type { NewContent } from '../../store/content.js'
import { writeControl } from '../../store/sessions.js'

/** Longer than for other writes: a stop must get through. */
const KILL_LOCK_TIMEOUT_MS = 10_000

/** Kills the session, for good. Killing it again changes nothing. */
export async function killSession(
  ctx: Context,
  { params, body }: Input<Routes['killSession']>,
): Promise<Reply<Routes['killSession']>> {
  return changeSession(
    ctx,
    params.session_id,
    (sight) => {
      const { session } = sight
      if (session.state.status === 'KILLED') return { reply: stopReply(session) }
      const next = advance(sight, [{ type: 'killed', at: session.now.toISOString(), body: { by: 'client' } }])
      const keepsText = body.reason !== undefined && session.captureLevel !== 'metadata'
      const content: NewContent[] = keepsText ? [{ kind: 'reason', ref: 'kill', body: body.reason ?? null }] : []
      return {
        write: (sql) => writeControl(sql, { session, leaseUntil: session.leaseUntil, content, ...next }),
        reply: stopReply(next),
      }
    },
    { lockTimeoutMs: KILL_LOCK_TIMEOUT_MS },
  )
}
