import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { advance } from '../change/advance.js'
import { changeSession, type LoadedSession } from '../change/change-session.js'
import { pendingCalls, provenPrincipalOf, sessionProblem, sessionView } from '../change/session-view.js'
import type { Context } from '../context/context.js'
import { withArgumentsInDoubt } from '../ledgers/calls-in-doubt.js'

/** Gives a recoverable session to a new holder under a new fence; calls without an outcome are then in doubt. */
export async function recoverSession(
  ctx: Context,
  { params, body }: Input<Routes['recoverSession']>,
): Promise<Reply<Routes['recoverSession']>> {
  return changeSession(ctx, params.session_id, async (loaded) => {
    const { session, plan, query } = loaded
    const { status, fence, holderId } = session.head.state
    if (status === 'KILLED' || status === 'COMPROMISED') throw new ApiError('NOT_RECOVERABLE', sessionProblem(session))
    // The reply was lost: nothing has happened since this holder got the session.
    if (holderId === body.holder_id && session.head.lastEvent === 'recovered') return { reply: await recovered(loaded) }
    const pending = pendingCalls(session)
    if (pending.length > 0 && session.head.leaseUntil > session.now && !body.takeover) {
      throw new ApiError('LEASE_ACTIVE', {
        ...sessionProblem(session),
        lease_until: session.head.leaseUntil.toISOString(),
      })
    }
    const facts = {
      holder_id: body.holder_id,
      fence: fence + 1,
      takeover: body.takeover,
      in_doubt: pending.map((call) => call.pending_call_id),
    }
    const superseded = session.head.prepared
    const { head, events } = advance(loaded, [{ type: 'recovered', at: session.now.toISOString(), body: facts }], {
      leaseUntil: 'renewed',
      prepared: null,
      supersedes: superseded !== null,
    })
    return {
      change: { session, head, events, superseded },
      reply: await recovered({ session: { fixed: session.fixed, head, now: session.now }, plan, query }),
    }
  })
}

async function recovered({
  session,
  plan,
  query,
}: Pick<LoadedSession, 'session' | 'plan' | 'query'>): Promise<Reply<Routes['recoverSession']>> {
  return {
    session: sessionView(session, plan),
    fence: session.head.state.fence,
    lease_until: session.head.leaseUntil.toISOString(),
    hash_salt: session.fixed.hashSalt,
    in_doubt: await withArgumentsInDoubt(query, session),
    ...provenPrincipalOf(session),
    ledger: session.head.ledger,
  }
}
