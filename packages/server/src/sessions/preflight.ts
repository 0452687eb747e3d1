import { checkPreflight, judgeInputInvariants, narrowTools, saltedHash } from '@countersign/engine'
import {
  type ContractFailure,
  type Input,
  type JsonValue,
  LIMITS,
  type PreflightReply,
  type Remaining,
  type Routes,
} from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { isoTime } from '../base/iso-time.js'
import { changeSession, leaseFrom, type Sight } from '../change/change-session.js'
import { requireAuthority, requireFence, requireNothingPending, requireRecovered } from '../change/guards.js'
import { standing } from '../change/view.js'
import type { Context } from '../context/context.js'
import { requestRowAfter, writePreparedRequest } from '../store/sessions/preflights.js'
import { findPreparedRequest, type StoredRequest } from '../store/sessions/prepared-requests.js'
import type { PreparedRequest } from '../store/sessions/session-row.js'
import { requireUsableRequest } from './prepared-request.js'

type Body = Input<Routes['preflight']>['body']

/**
 * Prepares a request bound to the session's current state and narrows its tools. A stale state is refused here,
 * before the model is called; a session whose limits are used up is told so.
 */
export async function preflight(ctx: Context, { params, body }: Input<Routes['preflight']>): Promise<PreflightReply> {
  return changeSession(ctx, params.session_id, async (sight) => {
    const { session, plan } = sight
    requireAuthority(session)
    requireFence(session, body.fence)
    requireRecovered(session)
    const earlier = await earlierRequest(sight, body.prepared_request_id)
    if (earlier !== null) return { reply: repeated(sight, earlier, body) }
    if (body.state_version !== session.state.stateVersion) throw new ApiError('STATE_STALE', standing(session))
    if (body.tools.length > 0) requireNothingPending(session)
    const { blocked, remaining } = check(sight, body)
    if (blocked !== null) return { reply: { outcome: 'blocked', ...blocked, remaining, ledger: session.ledger } }
    const request = prepare(sight, body)
    const leaseUntil = leaseFrom(session.now, session.state, plan)
    const lastNarrowing = { allowed: [...request.allowed], removed: [...request.removed] }
    const write = { session, request, lastNarrowing, leaseUntil }
    const after = requestRowAfter(write)
    return {
      appends: 0,
      after,
      write: (sql, proof) => writePreparedRequest(sql, write, after, proof),
      reply: prepared(request, leaseUntil, remaining, session.ledger),
    }
  })
}

/** An earlier request of this id. Without the lock only the newest is known; the write guards against the others. */
async function earlierRequest({ session, sql, locked }: Sight, id: string): Promise<StoredRequest | null> {
  if (session.prepared?.id === id) return { request: session.prepared, consumedAt: null }
  return locked ? findPreparedRequest(sql, session, id) : null
}

/** The answer to the first preflight was lost: the same again, if it still holds. */
function repeated(sight: Sight, { request, consumedAt }: StoredRequest, body: Body): PreflightReply {
  const { session } = sight
  if (request !== null && request.requestHash !== hashOfRequest(session.hashSalt, body)) {
    throw new ApiError('PREPARED_REQUEST_EXISTS')
  }
  if (consumedAt !== null) throw new ApiError('PREPARED_REQUEST_CONSUMED', standing(session))
  requireUsableRequest(session, request)
  return prepared(request, session.leaseUntil, check(sight, body).remaining, session.ledger)
}

const check = ({ session, plan }: Sight, { provider, model, tools }: Body) =>
  checkPreflight({
    plan,
    state: session.state,
    nowMs: session.now.getTime(),
    provider: provider ?? null,
    model: model ?? null,
    toolless: tools.length === 0,
  })

function prepare({ session, plan }: Sight, body: Body): PreparedRequest {
  const { state, hashSalt, now } = session
  const { allowed, removed } = narrowTools({
    plan,
    state,
    tools: body.tools,
    unmatchedPolicy: session.unmatchedPolicy,
    principal: session.principal,
    agent: state.agent,
  })
  const request: Omit<PreparedRequest, 'digest'> & { digest?: string } = {
    id: body.prepared_request_id,
    bound: { state_version: state.stateVersion, control_revision: state.controlRevision, fence: state.fence },
    compiledHash: session.compiledHash,
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

/** Values of the request are judged and not kept. */
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
