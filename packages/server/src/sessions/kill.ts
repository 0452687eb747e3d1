import type { LedgerBody, Reply, Routes } from '@countersign/protocol'
import { advance, changeSession } from '../change/change-session.js'
import type { Context } from '../context/context.js'
import { insertAuditEntry } from '../store/accounts/audit.js'
import type { NewContent } from '../store/sessions/content.js'
import { writeControl } from '../store/sessions/sessions.js'
import { stopReply } from './stop-reply.js'

/** Longer than for other writes: a stop must get through. */
const KILL_LOCK_TIMEOUT_MS = 10_000

export interface Kill {
  readonly sessionId: string
  readonly by: LedgerBody<'killed'>['by']
  readonly reason: string | undefined
  /** The person who asks for it. */
  readonly actor?: string
}

/** Kills a session, for good, and says so in the audit trail. Killing it again changes nothing. */
export function kill(ctx: Context, { sessionId, by, reason, actor }: Kill): Promise<Reply<Routes['killSession']>> {
  return changeSession(
    ctx,
    sessionId,
    (sight) => {
      const { session } = sight
      if (session.state.status === 'KILLED') return { reply: stopReply(session) }
      const next = advance(sight, [{ type: 'killed', at: session.now.toISOString(), body: { by } }])
      const keepsText = reason !== undefined && session.captureLevel !== 'metadata'
      const content: NewContent[] = keepsText ? [{ kind: 'reason', ref: 'kill', body: reason }] : []
      return {
        write: async (sql) => {
          const isWritten = await writeControl(sql, { session, leaseUntil: session.leaseUntil, content, ...next })
          if (!isWritten) return false
          await insertAuditEntry(sql, {
            tenantId: ctx.tenantId,
            at: ctx.clock(),
            action: 'session_killed',
            userId: ctx.userId,
            actor: actor ?? null,
            keyId: ctx.keyId,
            ip: ctx.clientAddress,
            subject: sessionId,
            // What a program says of a session is content of it, here as well.
            detail: by === 'dashboard' || keepsText ? (reason ?? null) : null,
          })
          return true
        },
        reply: stopReply(next),
      }
    },
    { lockTimeoutMs: KILL_LOCK_TIMEOUT_MS },
  )
}
