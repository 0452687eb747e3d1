import { ApiError } from '../base/api-error.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { pendingCalls, sessionProblem } from './session-view.js'

/** Killed and compromised sessions take no more authoritative writes. */
export function requireAuthority(session: SessionRow): void {
  const { status } = session.head.state
  if (status === 'KILLED') throw new ApiError('SESSION_KILLED', sessionProblem(session))
  if (status === 'COMPROMISED') throw new ApiError('SESSION_COMPROMISED', sessionProblem(session))
}

/** The caller holds the session: it has not ended it, and no other holder has recovered it since. */
export function requireFence(session: SessionRow, fence: number): void {
  if (session.head.state.endedAt !== undefined) throw new ApiError('SESSION_ENDED', sessionProblem(session))
  if (fence !== session.head.state.fence) throw new ApiError('FENCE_STALE', sessionProblem(session))
}

/** Every call that a recovery left in doubt has an outcome. */
export function requireRecovered(session: SessionRow): void {
  if (session.head.state.status !== 'RECOVERING') return
  throw new ApiError('SESSION_RECOVERING', { ...sessionProblem(session), pending: pendingCalls(session) })
}

/** No allowed call waits for its receipt. */
export function requireNothingPending(session: SessionRow): void {
  const pending = pendingCalls(session)
  if (pending.length > 0) throw new ApiError('PENDING_CALLS', { ...sessionProblem(session), pending })
}
