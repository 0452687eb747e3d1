import { createHash, randomUUID } from 'node:crypto'
import type { Session } from '@countersign/sdk'
import { GatewayProblem } from '../base/problems.js'
import { createServerGovernor, type ServerGovernor } from './govern-server.js'
import { createToolCalls, type ToolCalls } from './tool-calls.js'
import type { DefinitionPins } from './tool-catalog.js'

/** What of a request says which session it belongs to. */
export interface SessionClues {
  readonly agent: string
  readonly server: string
  readonly headers: Headers
}

/** One server in one session. */
export interface GovernedServer {
  readonly governor: ServerGovernor
  /** The host's running calls by id, so that they can be cancelled. */
  readonly calls: Map<string, AbortController>
  /** Streams to hosts that can be told of a changed list. */
  readonly streams: Set<() => void>
}

export interface McpSessions {
  find(clues: SessionClues): GovernedServer
  /** The host has ended its MCP session. */
  end(clues: SessionClues): Promise<void>
  close(): Promise<void>
}

export interface McpSessionsOptions {
  readonly open: (agent: string, sessionId: string) => Session<unknown>
  readonly pins: (agent: string, server: string) => DefinitionPins
}

export const SESSION_HEADER = 'x-countersign-session'

interface Pooled {
  /** The session, opened when it is first needed. */
  session(): Session<unknown>
  isOpen(): boolean
  readonly calls: ToolCalls
  readonly servers: Map<string, GovernedServer>
}

/** The sessions that were used last; one that is dropped is opened again when it is needed. */
const POOLED = 1_000

/**
 * By header; else one for each MCP session of 2025, under an id that every gateway derives alike; else one for the
 * credential and the agent, as long as this process runs.
 */
export function createMcpSessions({ open, pins }: McpSessionsOptions): McpSessions {
  const pool = new Map<string, Pooled>()
  const ofProcess = randomUUID()

  const sessionIdOf = ({ agent, server, headers }: SessionClues): string => {
    const named = headers.get(SESSION_HEADER)
    if (named !== null) return checked(named)
    const mcpSession = headers.get('mcp-session-id')
    return `ses_mcp_${digest(mcpSession === null ? [ofProcess, agent] : [agent, server, mcpSession])}`
  }

  const pooledOf = (agent: string, sessionId: string): Pooled => {
    const key = `${agent}\n${sessionId}`
    const pooled = pool.get(key) ?? create(agent, sessionId)
    pool.delete(key)
    pool.set(key, pooled)
    if (pool.size > POOLED) void drop(pool.keys().next().value ?? '')
    return pooled
  }

  const create = (agent: string, sessionId: string): Pooled => {
    let opened: Session<unknown> | null = null
    const session = (): Session<unknown> => {
      opened ??= open(agent, sessionId)
      return opened
    }
    return { session, isOpen: () => opened !== null, calls: createToolCalls({ session }), servers: new Map() }
  }

  const drop = async (key: string): Promise<void> => {
    const pooled = pool.get(key)
    pool.delete(key)
    if (pooled?.isOpen())
      await pooled
        .session()
        .close()
        .catch(() => {})
  }

  return {
    find(clues) {
      const { agent, server } = clues
      const sessionId = sessionIdOf(clues)
      const pooled = pooledOf(agent, sessionId)
      const known = pooled.servers.get(server)
      if (known !== undefined) return known
      const streams = new Set<() => void>()
      const governor = createServerGovernor({
        session: pooled.session,
        server,
        calls: pooled.calls,
        pins: pins(agent, server),
        onListChanged: () => {
          for (const tell of streams) tell()
        },
      })
      const made: GovernedServer = { governor, calls: new Map(), streams }
      pooled.servers.set(server, made)
      return made
    },
    async end(clues) {
      // A session that somebody named may have other servers.
      if (clues.headers.get(SESSION_HEADER) === null) await drop(`${clues.agent}\n${sessionIdOf(clues)}`)
    },
    async close() {
      await Promise.all([...pool.keys()].map(drop))
    },
  }
}

const digest = (parts: readonly string[]): string =>
  createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 32)

function checked(named: string): string {
  if (/^[A-Za-z0-9_.:-]{1,128}$/.test(named)) return named
  throw new GatewayProblem(
    'session_invalid',
    `the header ${SESSION_HEADER} must be 1 to 128 of A-Z a-z 0-9 _ . : -, the id of a session`,
  )
}
