import type { SessionRow } from '../store/sessions/session-row.js'

/**
 * Sessions as this process last wrote them. Never trusted alone: the statement that recognises the key says whether the
 * stored row is still the same one (`SELECT_SESSION`), and sends the whole row where it has not. So another instance, a kill or a
 * label is seen at once, and the usual turn does not read again what it has just written.
 */
export interface SessionCache {
  find(sessionId: string): SessionRow | null
  keep(session: SessionRow): void
  /** For a row that was written in a way that only PostgreSQL knows. */
  forget(sessionId: string): void
}

/** Of some kilobytes each. */
const MAX_SESSIONS = 1_000

/** The session that was written longest ago goes first. */
export function createSessionCache(maxSessions: number = MAX_SESSIONS): SessionCache {
  const sessions = new Map<string, SessionRow>()
  return {
    find: (sessionId) => sessions.get(sessionId) ?? null,
    forget: (sessionId) => {
      sessions.delete(sessionId)
    },
    keep: (session) => {
      sessions.delete(session.sessionId)
      sessions.set(session.sessionId, session)
      if (sessions.size > maxSessions) sessions.delete(sessions.keys().next().value ?? '')
    },
  }
}
