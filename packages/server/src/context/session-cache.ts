import type { SessionRow } from '../store/sessions/session-row.js'

/**
 * Sessions as this process last wrote them. Never trusted alone: the statement that authenticates the key says whether the
 * stored row is still the same one (`SELECT_SESSION`), and sends the whole row where it is not. So another instance, a kill or a
 * label is seen at once, and the usual turn does not read again what it has just written.
 */
export interface SessionCache {
  find(sessionId: string): SessionRow | null
  remember(session: SessionRow): void
}

/** Of some kilobytes each. */
const MAX_SESSIONS = 1_000

/** The session that was written longest ago goes first. */
export function createSessionCache(maxSessions: number = MAX_SESSIONS): SessionCache {
  const sessions = new Map<string, SessionRow>()
  return {
    find: (sessionId) => sessions.get(sessionId) ?? null,
    remember: (session) => {
      sessions.delete(session.fixed.sessionId)
      sessions.set(session.fixed.sessionId, session)
      if (sessions.size > maxSessions) sessions.delete(sessions.keys().next().value ?? '')
    },
  }
}
