import { ApiError } from '../base/api-error.js'
import { sessionProblem } from '../change/session-view.js'
import type { PreparedRequest, SessionRow } from '../store/sessions/session-row.js'

const REPLACED = 'a newer preflight replaced this prepared request: of requests with tools, a session has one at a time'

/**
 * The unused request may still be used: it is not expired, bound to the current state of the session, and no
 * newer request with tools has taken its place.
 */
export function requireUsableRequest(session: SessionRow, request: PreparedRequest): void {
  if (Date.parse(request.expiresAt) <= session.now.getTime()) {
    throw new ApiError('PREPARED_REQUEST_EXPIRED', sessionProblem(session))
  }
  const { stateVersion, controlRevision, fence } = session.head.state
  const { bound } = request
  const isCurrent =
    bound.state_version === stateVersion &&
    bound.control_revision === controlRevision &&
    bound.fence === fence &&
    request.compiledHash === session.fixed.compiledHash
  if (!isCurrent) throw new ApiError('PREPARED_REQUEST_STALE', sessionProblem(session))
  // Two requests at one state would each be judged as if the calls of the other were not there.
  const isReplaced = request.withTools && session.head.prepared?.id !== request.id
  if (isReplaced) throw new ApiError('PREPARED_REQUEST_STALE', { ...sessionProblem(session), detail: REPLACED })
}
