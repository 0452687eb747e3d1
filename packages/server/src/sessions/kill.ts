import type { LedgerBody, Reply, Routes } from '@countersign/protocol'
import { advance } from '../change/advance.js'
import { changeSession } from '../change/change-session.js'
import { stopReply } from '../change/stop-reply.js'
import { auditEntry } from '../context/audit.js'
import type { Context } from '../context/context.js'
import type { NewContent } from '../store/sessions/content.js'

/** Longer than for other writes: a stop must get through. */
const KILL_LOCK_TIMEOUT_MS = 10_000

export interface Kill {
  readonly sessionId: string
  readonly by: LedgerBody<'killed'>['by']
  readonly reason: string | undefined
}

/** Kills a session, for good, and says so in the audit trail. Killing it again changes nothing. */
export function kill(ctx: Context, { sessionId, by, reason }: Kill): Promise<Reply<Routes['killSession']>> {
  return changeSession(
    ctx,
    sessionId,
    (loaded) => {
      const { session } = loaded
      if (session.head.state.status === 'KILLED') return { reply: stopReply(session.head) }
      const { head, events } = advance(loaded, [{ type: 'killed', at: session.now.toISOString(), body: { by } }])
      const storesText = reason !== undefined && session.fixed.captureLevel !== 'metadata'
      const content: NewContent[] = storesText ? [{ kind: 'reason', ref: 'kill', text: JSON.stringify(reason) }] : []
      // What a program says of a session is content of it, here as well.
      const detail = by === 'dashboard' || storesText ? (reason ?? null) : null
      const audit = auditEntry(ctx, { action: 'session_killed', subject: sessionId, detail })
      return { change: { session, head, events, content, audit }, reply: stopReply(head) }
    },
    { lockTimeoutMs: KILL_LOCK_TIMEOUT_MS, withoutPlan: true },
  )
}
