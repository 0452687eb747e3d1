import { checkPreflight, judgeInputInvariants, narrowTools, type SharedCounts, saltedHash } from '@countersign/engine'
import {
  type ContractFailure,
  type Input,
  type JsonValue,
  LIMITS,
  type NextRequest,
  type PreparedNext,
  type Routes,
} from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { isoTime } from '../base/iso-time.js'
import { leaseMsOf } from '../change/advance.js'
import type { LoadedSession } from '../change/change-session.js'
import { pendingCalls, sessionProblem } from '../change/session-view.js'
import { findPreparedRequest } from '../store/sessions/prepared-requests.js'
import type { SessionChange } from '../store/sessions/session-change.js'
import { textOf } from '../store/sessions/session-head.js'
import type { PreparedRequest, SessionHead, SessionRow } from '../store/sessions/session-row.js'

type Loaded = Pick<LoadedSession, 'session' | 'plan'>
/** A request before it is prepared, as a preflight or receipts bring it. */
type AskedRequest = Omit<Input<Routes['preflight']>['body'], 'fence' | 'state_version'>

/** Whether the model may be asked at all, and what remains of the limits. */
export const checkRequest = (
  { session, plan }: Loaded,
  { provider, model, tools }: AskedRequest,
  shared?: SharedCounts,
) =>
  checkPreflight({
    plan,
    state: session.head.state,
    nowMs: session.now.getTime(),
    provider: provider ?? null,
    model: model ?? null,
    toolless: tools.length === 0,
    shared,
  })

/** Narrows the tools of a request and binds it to the state of the session. */
export function prepareRequest(
  { session, plan }: Loaded,
  asked: AskedRequest,
  shared: SharedCounts | undefined,
): PreparedRequest {
  const { fixed, head, now } = session
  const { state } = head
  const { hashSalt } = fixed
  const { allowed, removed } = narrowTools({
    plan,
    state,
    tools: asked.tools,
    unmatchedPolicy: fixed.unmatchedPolicy,
    principal: fixed.principal,
    agent: state.agent,
    nowMs: now.getTime(),
    shared,
  })
  const request: Omit<PreparedRequest, 'digest'> & { digest?: string } = {
    id: asked.prepared_request_id,
    bound: { state_version: state.stateVersion, control_revision: state.controlRevision, fence: state.fence },
    compiledHash: fixed.compiledHash,
    requestHash: requestHash(session, asked),
    withTools: asked.tools.length > 0,
    allowed,
    removed,
    inputFailures: withoutValues(judgeInputInvariants({ plan, state, salt: hashSalt }, asked.request ?? {})),
    provider: asked.provider ?? null,
    model: asked.model ?? null,
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

/** By this a request is known when it is asked for again. */
export const requestHash = ({ fixed }: SessionRow, asked: AskedRequest): string =>
  saltedHash(fixed.hashSalt, asked as unknown as JsonValue)

/** The session's head once the request is prepared: one with tools is its newest and supersedes the one before. */
export function headWith(request: PreparedRequest, { session: { head, now }, plan }: Loaded): SessionHead {
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

const REPLACED = 'a newer request replaced this prepared one: of requests with tools, a session has one at a time'

/**
 * The unused request may still be used: it is not expired, bound to the current state of the session, and no
 * newer request with tools has taken its place.
 */
export function requireUsableRequest(session: SessionRow, request: PreparedRequest): void {
  if (Date.parse(request.expiresAt) <= session.now.getTime()) {
    throw new ApiError('PREPARED_REQUEST_EXPIRED', sessionProblem(session))
  }
  if (!isBoundTo(session, request)) throw new ApiError('PREPARED_REQUEST_STALE', sessionProblem(session))
  // Two requests at one state would each be judged as if the calls of the other were not there.
  const isReplaced = request.withTools && session.head.prepared?.id !== request.id
  if (isReplaced) throw new ApiError('PREPARED_REQUEST_STALE', { ...sessionProblem(session), detail: REPLACED })
}

/** Nothing has happened since that could change what the request was prepared to. */
export function isBoundTo({ fixed, head }: SessionRow, { bound, compiledHash }: PreparedRequest): boolean {
  const { stateVersion, controlRevision, fence } = head.state
  return (
    bound.state_version === stateVersion &&
    bound.control_revision === controlRevision &&
    bound.fence === fence &&
    compiledHash === fixed.compiledHash
  )
}

/** What receipts write beside themselves to prepare the request that comes next. */
export interface PreparesNext {
  readonly head: SessionHead
  readonly change: Pick<SessionChange, 'prepares' | 'superseded'>
  readonly reply: PreparedNext
}

/**
 * Prepares the request of the next turn in the write of the receipts. Null where a preflight would refuse or block it, or
 * would look further than the session's row: then nothing of it is written, and the preflight tells. `after` is the
 * session as the receipts leave it.
 */
export async function prepareNext(
  { query, locked }: Pick<LoadedSession, 'query' | 'locked'>,
  after: Loaded,
  next: NextRequest,
): Promise<PreparesNext | null> {
  const { session, plan } = after
  const { prepared } = session.head
  const readsMore = plan.shared !== null || plan.inputPaths.length > 0
  if (readsMore || !takesTurns(after) || prepared?.id === next.prepared_request_id) return null
  // Without the lock, the write finds the id of another request.
  if (locked && (await query((sql) => findPreparedRequest(sql, session, next.prepared_request_id))) !== null)
    return null
  const { blocked } = checkRequest(after, next)
  if (blocked !== null) return null
  const request = prepareRequest(after, next, undefined)
  return {
    head: headWith(request, after),
    change: { prepares: request, superseded: prepared },
    reply: replyOf(after, request, next),
  }
}

/** The receipts were sent again: the request that they prepared, while it can be used. */
export function preparedBefore(loaded: Loaded, next: NextRequest): PreparedNext | null {
  const { session } = loaded
  const { prepared } = session.head
  if (prepared === null || prepared.id !== next.prepared_request_id || !takesTurns(loaded)) return null
  const isSame = prepared.requestHash === requestHash(session, next)
  const isUsable = isBoundTo(session, prepared) && Date.parse(prepared.expiresAt) > session.now.getTime()
  return isSame && isUsable ? replyOf(loaded, prepared, next) : null
}

/** No preflight would be refused for what the session is. */
const takesTurns = ({ session }: Loaded): boolean => {
  const { status, endedAt } = session.head.state
  return status === 'ACTIVE' && endedAt === undefined && pendingCalls(session).length === 0
}

const replyOf = (loaded: Loaded, request: PreparedRequest, next: NextRequest): PreparedNext => ({
  bound: request.bound,
  expires_at: request.expiresAt,
  allowed: [...request.allowed],
  removed: [...request.removed],
  remaining: checkRequest(loaded, next).remaining,
})
