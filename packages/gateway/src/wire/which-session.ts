import { createHash, randomUUID } from 'node:crypto'
import { namedSession } from '../base/session-header.js'

/** Which session a request belongs to. */
export interface SessionFinder {
  find(request: FoundBy): Promise<string>
  /** The session has given these ids to a client: a request that names them is of this session. */
  learn(agent: string, sessionId: string, ids: readonly string[]): void
}

export interface FoundBy {
  readonly agent: string
  readonly headers: Headers
  readonly url: string
  readonly body: string
  /** Ids of calls and responses in the conversation, the newest last. */
  readonly ids: readonly string[]
}

export interface FinderOptions {
  /** Asks the server, within the same tenant, agent and environment; null where it knows none. Throws when it is away. */
  readonly lookUp: (agent: string, ids: readonly string[]) => Promise<string | null>
}

/** What this process remembers, so that it need not ask: forgetting costs one question to the server. */
const REMEMBERED_IDS = 100_000
const REMEMBERED_REQUESTS = 1_000

/**
 * By header; else by the ids in the conversation's history; else a new one. A client's retry of a request that named no
 * session is the same turn, so that it gets the session of the attempt before.
 */
export function createSessionFinder({ lookUp }: FinderOptions): SessionFinder {
  const byId = new Map<string, string>()
  const byRequest = new Map<string, string>()

  const known = (agent: string, ids: readonly string[]): string | undefined => {
    for (let at = ids.length - 1; at >= 0; at--) {
      const sessionId = byId.get(keyOf(agent, ids[at] ?? ''))
      if (sessionId !== undefined) return sessionId
    }
    return undefined
  }

  function learn(agent: string, sessionId: string, ids: readonly string[]): void {
    for (const id of ids) keep(byId, keyOf(agent, id), sessionId, REMEMBERED_IDS)
  }

  return {
    learn,
    async find({ agent, headers, url, body, ids }) {
      const named = namedSession(headers)
      if (named !== null) return named
      const request = createHash('sha256').update(`${agent}\n${url}\n${body}`).digest('base64url')
      const before = Number(headers.get('x-stainless-retry-count') ?? 0) > 0 ? byRequest.get(request) : undefined
      const sessionId =
        before ?? known(agent, ids) ?? (ids.length === 0 ? null : await lookUp(agent, ids)) ?? `ses_${randomUUID()}`
      keep(byRequest, request, sessionId, REMEMBERED_REQUESTS)
      learn(agent, sessionId, ids)
      return sessionId
    },
  }
}

const keyOf = (agent: string, id: string): string => `${agent}\n${id}`

function keep(map: Map<string, string>, key: string, value: string, most: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > most) map.delete(map.keys().next().value ?? '')
}
