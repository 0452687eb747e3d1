import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { advance, changeSession, leaseFrom, type Sight } from '../change/change-session.js'
import { pendingCalls, sessionView, standing } from '../change/view.js'
import type { Context } from '../context/context.js'
import { rowAfter } from '../store/sessions/session-change.js'
import { writeControl } from '../store/sessions/sessions.js'

/** Gives a recoverable session to a new holder under a new fence; calls without an outcome are then in doubt. */
export async function recoverSession(
  ctx: Context,
  { params, body }: Input<Routes['recoverSession']>,
): Promise<Reply<Routes['recoverSession']>> {
  return changeSession(ctx, params.session_id, (sight) => {
    const { session, plan } = sight
    const { status, fence, holderId } = session.state
    if (status === 'KILLED' || status === 'COMPROMISED') throw new ApiError('NOT_RECOVERABLE', standing(session))
    // The answer was lost: nothing has happened since this holder got the session.
    if (holderId === body.holder_id && session.lastEvent === 'recovered') return { reply: recovered(sight) }
    const pending = pendingCalls(session)
    if (pending.length > 0 && session.leaseUntil > session.now && !body.takeover) {
      throw new ApiError('LEASE_ACTIVE', { ...standing(session), lease_until: session.leaseUntil.toISOString() })
    }
    const facts = {
      holder_id: body.holder_id,
      fence: fence + 1,
      takeover: body.takeover,
      in_doubt: pending.map((call) => call.pending_call_id),
    }
    const next = advance(sight, [{ type: 'recovered', at: session.now.toISOString(), body: facts }])
    const leaseUntil = leaseFrom(session.now, next.state, plan)
    const change = { session, leaseUntil, ...next, prepared: null, voids: session.prepared }
    return {
      write: (sql) => writeControl(sql, change),
      reply: recovered({ session: rowAfter(change), plan }),
    }
  })
}

function recovered({ session, plan }: Pick<Sight, 'session' | 'plan'>): Reply<Routes['recoverSession']> {
  return {
    session: sessionView(session, plan),
    fence: session.state.fence,
    lease_until: session.leaseUntil.toISOString(),
    hash_salt: session.hashSalt,
    in_doubt: pendingCalls(session),
    ledger: session.ledger,
  }
}
