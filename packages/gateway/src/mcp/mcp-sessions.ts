import { createHash, randomUUID } from 'node:crypto'
import type { Session } from '@countersign/sdk'
import { namedBy, principalToken, sameOrFirst } from '../base/principal-header.js'
import { namedSession } from '../base/session-header.js'
import { createGovernedServer, type GovernedServer } from './governed-server.js'
import type { DefinitionPins } from './pins/definition-pins.js'
import type { RequestStates } from './request-state.js'
import { createToolCalls, type ToolCalls } from './tool-calls.js'

/** What of a request says which session it belongs to. */
export interface SessionClues {
  readonly agent: string
  readonly server: string
  readonly headers: Headers
}

export interface McpSessions {
  find(clues: SessionClues): GovernedServer
  /** The host has ended its MCP session. */
  end(clues: SessionClues): void
}

export interface McpSessionsOptions {
  /** The session of this id, opened where this process does not have it yet. */
  readonly session: (agent: string, sessionId: string, token: string | null) => Session<unknown>
  /** Ends the session of this id, unless others use it. */
  readonly endSession: (agent: string, sessionId: string) => void
  readonly pins: (agent: string, server: string) => DefinitionPins
  /** Only calls that a model proposed in the session are run. */
  readonly requiresProposal: boolean
  /** Hosts are asked to confirm calls; null where they are not. */
  readonly states?: RequestStates | null
}

/** What the hosts of one session share. */
interface Hosted {
  /** Whatever is still running keeps the session that it has: it opens none. */
  end(): void
  session(): Session<unknown>
  readonly calls: ToolCalls
  readonly servers: Map<string, GovernedServer>
  /** The session was named by header: it is not that of one MCP session alone. */
  isNamed: boolean
  /** The newest principal token that a request brought; null: none did. */
  token: string | null
}

/** Those that were used last; what is dropped is made again when it is needed. */
const HOSTED = 1_000

/**
 * By header; else one for each MCP session of 2025, under an id that every gateway derives alike; else one for the
 * credential and the agent, as long as this process runs.
 */
export function createMcpSessions({
  session: open,
  endSession,
  pins,
  requiresProposal,
  states = null,
}: McpSessionsOptions): McpSessions {
  const hosted = new Map<string, Hosted>()
  const ofProcess = randomUUID()

  const sessionIdOf = ({ agent, server, headers }: SessionClues): string => {
    const mcpSession = headers.get('mcp-session-id')
    const token = principalToken(headers)
    const ofCredential = token === null ? [ofProcess, agent] : [ofProcess, agent, namedBy(token)]
    const clues = mcpSession === null ? ofCredential : [agent, server, mcpSession]
    return namedSession(headers) ?? `ses_mcp_${digest(clues)}`
  }

  const hostedIn = (agent: string, sessionId: string): Hosted => {
    const key = `${agent}\n${sessionId}`
    const found = hosted.get(key) ?? create(agent, sessionId)
    hosted.delete(key)
    hosted.set(key, found)
    if (hosted.size > HOSTED) hosted.delete(hosted.keys().next().value ?? '')
    return found
  }

  const create = (agent: string, sessionId: string): Hosted => {
    let ended: Session<unknown> | null = null
    const session = (): Session<unknown> => ended ?? open(agent, sessionId, made.token)
    const end = (): void => {
      ended = session()
    }
    const calls = createToolCalls({ session, requiresProposal })
    const made: Hosted = { end, session, calls, servers: new Map(), isNamed: false, token: null }
    return made
  }

  return {
    find(clues) {
      const { agent, server } = clues
      const hostedHere = hostedIn(agent, sessionIdOf(clues))
      const { session, calls, servers } = hostedHere
      const token = principalToken(clues.headers)
      if (token !== null) hostedHere.token = sameOrFirst(hostedHere.token, token)
      if (namedSession(clues.headers) !== null) hostedHere.isNamed = true
      const known = servers.get(server)
      if (known !== undefined) return known
      const made = createGovernedServer({ session, server, calls, pins: pins(agent, server), states })
      servers.set(server, made)
      return made
    },
    end(clues) {
      // A session that was named may have other servers, and that of the credential other hosts.
      if (namedSession(clues.headers) !== null || clues.headers.get('mcp-session-id') === null) return
      const sessionId = sessionIdOf(clues)
      const key = `${clues.agent}\n${sessionId}`
      const found = hosted.get(key)
      hosted.delete(key)
      if (found?.isNamed !== false) return
      found.end()
      endSession(clues.agent, sessionId)
    },
  }
}

const digest = (parts: readonly string[]): string =>
  createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 32)
