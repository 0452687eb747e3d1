import { type Input, LIMITS, type Reply, type Routes } from '@countersign/protocol'
import { ApiError } from '../../api-error.js'
import type { Context } from '../../context.js'
import { advance, changeSession } from '../../sessions/change-session.js'
import { requireAuthority } from '../../sessions/guards.js'
import { standing } from '../../sessions/view.js'
import { writeControl } from '../../store/sessions.js'

/** Appends a label, for good. A label that is there already is no error and changes nothing. */
export async function addLabel(
  ctx: Context,
  { params, body: { label } }: Input<Routes['addLabel']>,
): Promise<Reply<Routes['addLabel']>> {
  return changeSession(ctx, params.session_id, (sight) => {
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
