import { tripsOnBlock } from '@countersign/engine'
import type { Input, PreflightReply, Remaining, Routes, SessionEvent } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { isoTime } from '../base/iso-time.js'
import { advance } from '../change/advance.js'
import { type ChangeResult, changeSession, type LoadedSession } from '../change/change-session.js'
import { requireAuthority, requireFence, requireNothingPending, requireRecovered } from '../change/guards.js'
import { sessionProblem } from '../change/session-view.js'
import { loadSharedCounts } from '../change/shared-limits.js'
import type { Context } from '../context/context.js'
import { loadEventsAt } from '../store/sessions/ledger.js'
import { findPreparedRequest, type StoredRequest } from '../store/sessions/prepared-requests.js'
import type { PreparedRequest } from '../store/sessions/session-row.js'
import { checkRequest, headWith, prepareRequest, requestHash, requireUsableRequest } from './prepared-request.js'

type Body = Input<Routes['preflight']>['body']

/**
 * Prepares a request bound to the session's current state and narrows its tools. A stale state is refused here,
 * before the model is called; a session that has used up its limits is blocked.
 */
export async function preflight(ctx: Context, { params, body }: Input<Routes['preflight']>): Promise<PreflightReply> {
  return changeSession(ctx, params.session_id, async (loaded) => {
    const { session } = loaded
    requireAuthority(session)
    requireFence(session, body.fence)
    requireRecovered(session)
    const earlier = await earlierRequest(loaded, body.prepared_request_id)
    if (earlier !== null) return { reply: repeated(loaded, earlier, body) }
    if (body.state_version !== session.head.state.stateVersion)
      throw new ApiError('STATE_STALE', sessionProblem(session))
    if (body.tools.length > 0) requireNothingPending(session)
    const shared = loaded.plan.shared === null ? undefined : await loadSharedCounts(loaded, null)
    const { blocked, remaining } = checkRequest(loaded, body, shared)
    if (blocked !== null) return blockTurn(loaded, body, { ...blocked, remaining })
    const request = prepareRequest(loaded, body, shared)
    const head = headWith(request, loaded)
    return {
      change: {
        session,
        head,
        events: [],
        prepares: request,
        superseded: request.withTools ? session.head.prepared : request,
      },
      reply: prepared(request, head.leaseUntil, remaining, head.ledger),
    }
  })
}

/** The model is not called, which is a block like any other: it is counted, recorded, and may trip the breaker. */
async function blockTurn(
  loaded: LoadedSession,
  body: Body,
  blocked: Omit<Extract<PreflightReply, { outcome: 'blocked' }>, 'outcome' | 'status' | 'ledger'>,
): Promise<ChangeResult<PreflightReply>> {
  const { session, plan, query } = loaded
  if (session.head.lastEvent === 'turn_blocked') {
    // Asked again because the reply was lost: it is one block.
    const [last] = await query((sql) => loadEventsAt(sql, session.fixed, [session.head.ledger.seq]))
    if (last?.body.prepared_request_id === body.prepared_request_id) {
      const { state, ledger } = session.head
      return { reply: { outcome: 'blocked', ...blocked, status: state.status, ledger } }
    }
  }
  const at = isoTime(session.now)
  const events: SessionEvent[] = [
    {
      type: 'turn_blocked',
      at,
      body: {
        prepared_request_id: body.prepared_request_id,
        reason: blocked.reason,
        detail: blocked.detail ?? null,
        model: body.model ?? null,
      },
    },
  ]
  if (tripsOnBlock(plan, session.head.state.consecutiveBlocks + 1)) {
    events.push({ type: 'killed', at, body: { by: 'breaker' } })
  }
  const { head, events: chained } = advance(loaded, events)
  return {
    change: { session, head, events: chained },
    reply: { outcome: 'blocked', ...blocked, status: head.state.status, ledger: head.ledger },
  }
}

/** An earlier request of this id. Without the lock only the newest is known; the write guards against the others. */
async function earlierRequest({ session, query, locked }: LoadedSession, id: string): Promise<StoredRequest | null> {
  if (session.head.prepared?.id === id) return { request: session.head.prepared, consumedAt: null }
  return locked ? query((sql) => findPreparedRequest(sql, session, id)) : null
}

/** The reply to the first preflight was lost: the same again, if it is still valid. */
function repeated(loaded: LoadedSession, { request, consumedAt }: StoredRequest, body: Body): PreflightReply {
  const { session } = loaded
  if (request.requestHash !== requestHash(session, body)) throw new ApiError('PREPARED_REQUEST_EXISTS')
  if (consumedAt !== null) throw new ApiError('PREPARED_REQUEST_CONSUMED', sessionProblem(session))
  requireUsableRequest(session, request)
  return prepared(request, session.head.leaseUntil, checkRequest(loaded, body).remaining, session.head.ledger)
}

function prepared(
  request: PreparedRequest,
  leaseUntil: Date,
  remaining: Remaining,
  ledger: PreflightReply['ledger'],
): PreflightReply {
  return {
    outcome: 'prepared',
    prepared_request_id: request.id,
    bound: request.bound,
    expires_at: request.expiresAt,
    lease_until: isoTime(leaseUntil),
    allowed: [...request.allowed],
    removed: [...request.removed],
    remaining,
    ledger,
  }
}
