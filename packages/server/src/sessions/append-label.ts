import { LIMITS, type Reply, type Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { advance, changeSession } from '../change/change-session.js'
import { requireAuthority } from '../change/guards.js'
import { standing } from '../change/view.js'
import type { Context } from '../context/context.js'
import { writeControl } from '../store/sessions/sessions.js'

/** Appends a label, for good. A label that is there already is no error and changes nothing. */
export function appendLabel(ctx: Context, sessionId: string, label: string): Promise<Reply<Routes['addLabel']>> {
  return changeSession(ctx, sessionId, (sight) => {
    const { session } = sight
    const { labels } = session.state
    if (labels.includes(label)) return { reply: { labels: [...labels], ledger: session.ledger } }
    requireAuthority(session)
    if (labels.length >= LIMITS.labelsPerSession) throw new ApiError('LABEL_LIMIT', standing(session))
    const next = advance(sight, [{ type: 'label', at: session.now.toISOString(), body: { label } }])
    return {
      write: (sql) => writeControl(sql, { session, leaseUntil: session.leaseUntil, ...next }),
      reply: { labels: [...next.state.labels], ledger: next.ledger },
    }
  })
}
