import type { Cache } from '../base/memories.js'
import { headBytes } from '../store/sessions/session-head.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { IN_PLACE } from './in-place.js'

/**
 * Sessions as this process last wrote them. Never trusted alone: the statement that authenticates the key says whether the
 * stored row is still the same one, and otherwise it is read again. So another instance, a kill or a label is seen at once,
 * and the usual turn does not read again what it has just written.
 */
export interface SessionCache {
  find(sessionId: string): SessionRow | null
  remember(session: SessionRow): void
  /** Another thread may have written it. */
  forget(sessionId: string): void
}

/** The rest of a row: names, hashes, times, and the principal, which is short. */
const FIXED_BYTES = 3_000

export const createSessionCache = (sessions: Cache<SessionRow>): SessionCache => ({
  find: (sessionId) => sessions.get(sessionId) ?? null,
  forget: (sessionId) => sessions.delete(sessionId),
  remember: (session) => {
    const { sessionId } = session.fixed
    const bytes = headBytes(session.head)
    // A larger one is read again, and not in place.
    if (bytes > IN_PLACE.stateBytes) sessions.delete(sessionId)
    else sessions.set(sessionId, session, { size: FIXED_BYTES + bytes })
  },
})
