import { ApiError } from '../base/api-error.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { pendingCalls, standing } from './view.js'

/** Killed and compromised sessions take no more authoritative writes. */
export function requireAuthority(session: SessionRow): void {
  const { status } = session.state
  if (status === 'KILLED') throw new ApiError('SESSION_KILLED', standing(session))
  if (status === 'COMPROMISED') throw new ApiError('SESSION_COMPROMISED', standing(session))
}

/** The caller holds the session: nobody has recovered it since. */
export function requireFence(session: SessionRow, fence: number): void {
  if (fence !== session.state.fence) throw new ApiError('FENCE_STALE', standing(session))
}

/** Every call that a recovery left in doubt has an outcome. */
export function requireRecovered(session: SessionRow): void {
  if (session.state.status !== 'RECOVERING') return
  throw new ApiError('SESSION_RECOVERING', { ...standing(session), pending: pendingCalls(session) })
}

/** No allowed call waits for its receipt. */
export function requireNothingPending(session: SessionRow): void {
  const pending = pendingCalls(session)
  if (pending.length > 0) throw new ApiError('PENDING_CALLS', { ...standing(session), pending })
}
