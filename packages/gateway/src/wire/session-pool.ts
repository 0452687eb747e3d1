import { openSharedSession, type Session } from '@countersign/sdk'
import { principalDiffers, sameOrFirst } from '../base/principal-header.js'
import { type SessionParts, sessionOptions } from '../base/session-options.js'
import type { GatewaySettings } from '../base/settings.js'

/** A session as this process holds it: the server has all of it that matters, so that any process can go on with it. */
export interface PooledSession {
  readonly session: Session
  /** Sends requests to upstreams as turns of the session. */
  readonly fetch: typeof globalThis.fetch
  /** A model has been asked in the session. */
  hasTurns(): boolean
  /** Takes the token of a later request. Throws where the session was opened for another principal, or for none. */
  present(token: string): void
}

export interface SessionPool {
  /** The session of this id, opened where this process does not have it yet. Throws where it acts for another principal. */
  get(agent: string, sessionId: string, token: string | null): PooledSession
  /** The caller of tools in the session is done. It ends, unless a model is asked in it as well. */
  end(agent: string, sessionId: string): Promise<void>
  close(): Promise<void>
}

export interface PoolOptions extends SessionParts {
  readonly settings: GatewaySettings
  readonly upstream: typeof globalThis.fetch
  /** Called with ids by which later requests can be told to be of a session. */
  readonly onAnswer: (agent: string, sessionId: string, ids: readonly string[]) => void
}

/**
 * Sessions that were used last. One that is dropped is opened again when it is needed; each remembers conversations, and
 * which calls of its model wait to be made.
 */
const POOLED = 512

export function createSessionPool(options: PoolOptions): SessionPool {
  const sessions = new Map<string, PooledSession>()
  return {
    get(agent, sessionId, token) {
      const key = `${agent}\n${sessionId}`
      const known = sessions.get(key)
      const isKept = known !== undefined && isUsable(known)
      if (known !== undefined && !isKept) void known.session.close().catch(() => {})
      if (isKept && token !== null) known.present(token)
      const pooled = isKept ? known : open(options, { agent, sessionId, token })
      sessions.delete(key)
      sessions.set(key, pooled)
      if (sessions.size > POOLED) dropOldest(sessions)
      return pooled
    },
    async end(agent, sessionId) {
      const key = `${agent}\n${sessionId}`
      const pooled = sessions.get(key)
      if (pooled === undefined || pooled.hasTurns()) return
      sessions.delete(key)
      await pooled.session.end()
    },
    async close() {
      await Promise.all([...sessions.values()].map(({ session }) => session.close()))
      sessions.clear()
    },
  }
}

/** What has failed is opened again: the plan may be approved now, and the server back. */
function isUsable({ session }: PooledSession): boolean {
  const { governanceAttachment } = session.getHealth()
  return !FAILED.has(governanceAttachment ?? '')
}

const FAILED = new Set(['no_plan', 'artifact_invalid', 'attachment_failed', 'fetch_failed'])

function dropOldest(sessions: Map<string, PooledSession>): void {
  const oldest = sessions.entries().next()
  if (oldest.done) return
  const [key, { session }] = oldest.value
  sessions.delete(key)
  void session.close().catch(() => {})
}

interface Asked {
  readonly agent: string
  readonly sessionId: string
  readonly token: string | null
}

function open(options: PoolOptions, { agent, sessionId, token }: Asked): PooledSession {
  const { settings, upstream, onAnswer } = options
  let newest = token
  const principalToken = newest === null ? null : () => newest ?? ''
  const session = openSharedSession(sessionOptions(settings, options, { agent, sessionId, principalToken }), (ids) =>
    onAnswer(agent, sessionId, ids),
  )
  let hasTurns = false
  const send = session.fetchThrough(upstream)
  return {
    session,
    hasTurns: () => hasTurns,
    present(given) {
      if (newest === null) throw principalDiffers()
      newest = sameOrFirst(newest, given)
    },
    fetch(input, init) {
      hasTurns = true
      return send(input, init)
    },
  }
}
