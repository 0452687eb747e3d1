import {
  checkPreflight,
  judgeInputInvariants,
  narrowTools,
  type SharedCounts,
  saltedHash,
  tripsOnBlock,
} from '@countersign/engine'
import {
  type ContractFailure,
  type Input,
  type JsonValue,
  LIMITS,
  type PreflightReply,
  type Remaining,
  type Routes,
  type SessionEvent,
} from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { isoTime } from '../base/iso-time.js'
import { advance, leaseMsOf } from '../change/advance.js'
import { type ChangeResult, changeSession, type LoadedSession } from '../change/change-session.js'
import { requireAuthority, requireFence, requireNothingPending, requireRecovered } from '../change/guards.js'
import { sessionProblem } from '../change/session-view.js'
import { loadSharedCounts } from '../change/shared-limits.js'
import type { Context } from '../context/context.js'
import { loadEventsAt } from '../store/sessions/ledger.js'
import { findPreparedRequest, type StoredRequest } from '../store/sessions/prepared-requests.js'
import { textOf } from '../store/sessions/session-head.js'
import type { PreparedRequest, SessionHead } from '../store/sessions/session-row.js'
import { requireUsableRequest } from './prepared-request.js'

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
    const { blocked, remaining } = check(loaded, body, shared)
    if (blocked !== null) return blockTurn(loaded, body, { ...blocked, remaining })
    const request = prepare(loaded, body, shared)
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

/** The session's head once the request is prepared: one with tools is its newest and supersedes the one before. */
function headWith(request: PreparedRequest, { session: { head, now }, plan }: LoadedSession): SessionHead {
  const narrowing = { allowed: [...request.allowed], removed: [...request.removed] }
  const leaseMs = leaseMsOf(head.state, plan)
  const isSame = head.lastNarrowing !== null && textOf(head.lastNarrowing) === textOf(narrowing)
  return {
    revision: request.digest,
    leaseUntil: new Date(now.getTime() + leaseMs),
    leaseMs,
    state: head.state,
    // The same object where it says the same: then it is not written again.
    lastNarrowing: isSame ? head.lastNarrowing : narrowing,
    prepared: request.withTools ? request : head.prepared,
    hasSuperseded: head.hasSuperseded || !request.withTools || head.prepared !== null,
    ledger: head.ledger,
    lastEvent: head.lastEvent,
    allowedCalls: head.allowedCalls,
    blockedCalls: head.blockedCalls,
    lastReason: head.lastReason,
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
  if (request.requestHash !== hashOfRequest(session.fixed.hashSalt, body)) throw new ApiError('PREPARED_REQUEST_EXISTS')
  if (consumedAt !== null) throw new ApiError('PREPARED_REQUEST_CONSUMED', sessionProblem(session))
  requireUsableRequest(session, request)
  return prepared(request, session.head.leaseUntil, check(loaded, body).remaining, session.head.ledger)
}

const check = ({ session, plan }: LoadedSession, { provider, model, tools }: Body, shared?: SharedCounts) =>
  checkPreflight({
    plan,
    state: session.head.state,
    nowMs: session.now.getTime(),
    provider: provider ?? null,
    model: model ?? null,
    toolless: tools.length === 0,
    shared,
  })

function prepare({ session, plan }: LoadedSession, body: Body, shared: SharedCounts | undefined): PreparedRequest {
  const { fixed, head, now } = session
  const { state } = head
  const { hashSalt } = fixed
  const { allowed, removed } = narrowTools({
    plan,
    state,
    tools: body.tools,
    unmatchedPolicy: fixed.unmatchedPolicy,
    principal: fixed.principal,
    agent: state.agent,
    nowMs: now.getTime(),
    shared,
  })
  const request: Omit<PreparedRequest, 'digest'> & { digest?: string } = {
    id: body.prepared_request_id,
    bound: { state_version: state.stateVersion, control_revision: state.controlRevision, fence: state.fence },
    compiledHash: fixed.compiledHash,
    requestHash: hashOfRequest(hashSalt, body),
    withTools: body.tools.length > 0,
    allowed,
    removed,
    inputFailures: withoutValues(judgeInputInvariants({ plan, state, salt: hashSalt }, body.request ?? {})),
    provider: body.provider ?? null,
    model: body.model ?? null,
    preparedAt: isoTime(now),
    expiresAt: isoTime(new Date(now.getTime() + LIMITS.preparedRequestMinutes * 60_000)),
  }
  const digest = saltedHash(hashSalt, request as unknown as JsonValue)
  request.digest = digest
  return request as PreparedRequest
}

/** Values of the request are judged and not stored. */
function withoutValues(failures: ReadonlyMap<string, ContractFailure[]>): PreparedRequest['inputFailures'] {
  if (failures.size === 0) return null
  return [...failures].map(([tool, found]) => ({ tool, failures: found.map(({ found: _, ...rest }) => rest) }))
}

const hashOfRequest = (salt: string, body: Body): string => saltedHash(salt, body as unknown as JsonValue)

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
