import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { isoTime } from '../base/iso-time.js'
import { advance } from '../change/advance.js'
import { changeSession } from '../change/change-session.js'
import { requireAuthority, requireFence } from '../change/guards.js'
import { sessionProblem } from '../change/session-view.js'
import type { Context } from '../context/context.js'
import type { SessionHead } from '../store/sessions/session-row.js'

/**
 * Gives an allowed call to one of the processes that hold the session. Written under the session's revision, so that two
 * never get it. A claim has no end: the process that took the call and died may have run it.
 */
export async function claimCall(
  ctx: Context,
  { params, body }: Input<Routes['claimCall']>,
): Promise<Reply<Routes['claimCall']>> {
  const { claim_id, pending_call_id } = body
  return changeSession(
    ctx,
    params.session_id,
    (loaded) => {
      const { session } = loaded
      requireAuthority(session)
      requireFence(session, body.fence)
      const call = session.head.state.open?.calls.find((one) => one.pending_call_id === pending_call_id)
      // Of an earlier step, of no call, or other arguments than were allowed.
      if (call?.argument_hash !== body.argument_hash) throw new ApiError('NOT_FOUND')
      if (call.state === 'pending' && call.claim === claim_id) return { reply: replyOf(pending_call_id, session.head) }
      if (call.state !== 'pending' || call.claim !== undefined) {
        throw new ApiError('CALL_TAKEN', { ...sessionProblem(session), pending_call_id })
      }
      const event = { type: 'claimed', at: isoTime(session.now), body: { pending_call_id, claim_id } } as const
      const { head, events } = advance(loaded, [event], { leaseUntil: 'as_long' })
      return { change: { session, head, events }, reply: replyOf(pending_call_id, head) }
    },
    { withoutPlan: true },
  )
}

const replyOf = (pendingCallId: string, { state, leaseUntil, ledger }: SessionHead): Reply<Routes['claimCall']> => ({
  pending_call_id: pendingCallId,
  status: state.status,
  control_revision: state.controlRevision,
  lease_until: isoTime(leaseUntil),
  ledger,
})
