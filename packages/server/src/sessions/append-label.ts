import { LIMITS, type Reply, type Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { advance } from '../change/advance.js'
import { changeSession } from '../change/change-session.js'
import { requireAuthority } from '../change/guards.js'
import { sessionProblem } from '../change/session-view.js'
import { auditEntry } from '../context/audit.js'
import type { Context } from '../context/context.js'

/**
 * Appends a label, for good. A label that is there already is no error and changes nothing. What a person did is written
 * to the audit trail by the same statement.
 */
export function appendLabel(
  ctx: Context,
  { sessionId, label, byPerson }: { sessionId: string; label: string; byPerson: boolean },
): Promise<Reply<Routes['addLabel']>> {
  return changeSession(
    ctx,
    sessionId,
    (loaded) => {
      const { session } = loaded
      const { labels } = session.head.state
      if (labels.includes(label)) return { reply: { labels: [...labels], ledger: session.head.ledger } }
      requireAuthority(session)
      if (labels.length >= LIMITS.labelsPerSession) throw new ApiError('LABEL_LIMIT', sessionProblem(session))
      const { head, events } = advance(loaded, [{ type: 'label', at: session.now.toISOString(), body: { label } }])
      const audit = byPerson ? auditEntry(ctx, { action: 'label_added', subject: sessionId, detail: label }) : undefined
      const change = { session, head, events, ...(audit !== undefined && { audit }) }
      return { change, reply: { labels: [...head.state.labels], ledger: head.ledger } }
    },
    { withoutPlan: true },
  )
}
