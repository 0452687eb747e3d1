import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { advance } from '../change/advance.js'
import { changeSession } from '../change/change-session.js'
import { activityOf, sessionProblem } from '../change/session-view.js'
import type { Context } from '../context/context.js'
import type { SessionRow } from '../store/sessions/session-row.js'

/** The holder is done: its lease ends, and no turn begins any more unless the session is recovered. */
export async function endSession(
  ctx: Context,
  { params, body }: Input<Routes['endSession']>,
): Promise<Reply<Routes['endSession']>> {
  return changeSession(
    ctx,
    params.session_id,
    (loaded) => {
      const { session } = loaded
      if (body.fence !== session.head.state.fence) throw new ApiError('FENCE_STALE', sessionProblem(session))
      // Ended before, or stopped for good: nothing is left to end.
      if (activityOf(session) === 'ended') return { reply: replyOf(session) }
      const event = { type: 'ended', at: session.now.toISOString(), body: { fence: body.fence } } as const
      const { head, events } = advance(loaded, [event], { leaseUntil: session.now })
      return {
        change: { session, head, events },
        reply: replyOf({ fixed: session.fixed, head, now: session.now }),
      }
    },
    { withoutPlan: true },
  )
}

const replyOf = (session: SessionRow): Reply<Routes['endSession']> => ({
  status: session.head.state.status,
  activity: activityOf(session),
  control_revision: session.head.state.controlRevision,
  ledger: session.head.ledger,
})
