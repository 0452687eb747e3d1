import { LIMITS, type Reply, type Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { advance } from '../change/advance.js'
import { changeSession } from '../change/change-session.js'
import { requireAuthority } from '../change/guards.js'
import { sessionProblem } from '../change/session-view.js'
import type { Context } from '../context/context.js'

/** Appends a label, for good. A label that is there already is no error and changes nothing. */
export function appendLabel(ctx: Context, sessionId: string, label: string): Promise<Reply<Routes['addLabel']>> {
  return changeSession(ctx, sessionId, (loaded) => {
    const { session } = loaded
    const { labels } = session.head.state
    if (labels.includes(label)) return { reply: { labels: [...labels], ledger: session.head.ledger } }
    requireAuthority(session)
    if (labels.length >= LIMITS.labelsPerSession) throw new ApiError('LABEL_LIMIT', sessionProblem(session))
    const { head, events } = advance(loaded, [{ type: 'label', at: session.now.toISOString(), body: { label } }])
    return { change: { session, head, events }, reply: { labels: [...head.state.labels], ledger: head.ledger } }
  })
}
