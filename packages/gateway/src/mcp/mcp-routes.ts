import { isEnforced, type SessionParts } from '../base/session-options.js'
import type { GatewaySettings } from '../base/settings.js'
import type { Route } from '../http/route.js'
import type { SessionPool } from '../wire/session-pool.js'
import { createMcpRoute } from './mcp-route.js'
import { choosePins, type PinPlaces } from './pins/choose-pins.js'
import type { DefinitionPins } from './pins/definition-pins.js'
import { createRequestStates } from './request-state.js'

export interface McpRouteParts extends SessionParts {
  /** Sends requests to the MCP servers. */
  readonly upstream: typeof globalThis.fetch
}

/** The route of the MCP servers, where there are any. Their calls belong to the sessions in which models propose them. */
export function createMcpRoutes(settings: GatewaySettings, parts: McpRouteParts, pool: SessionPool): Route[] {
  const { mcpServers, mcpPins: file, environment, apiUrl: runtimeUrl } = settings
  if (mcpServers === null) return []
  const { apiKey, fetch } = parts
  const places: PinPlaces = { file, service: isEnforced(settings) ? { apiKey, runtimeUrl, environment, fetch } : null }
  const pins = new Map<string, DefinitionPins>()
  const route = createMcpRoute({
    servers: mcpServers,
    apiKey,
    fetch: parts.upstream,
    idleMs: settings.upstreamSeconds * 1_000,
    maxBytes: settings.maxBodyMb * 1024 * 1024,
    states: isEnforced(settings) ? createRequestStates(apiKey) : null,
    requiresProposal: settings.requireProposal && isEnforced(settings),
    pins(agent, server) {
      const key = `${agent}\n${server}`
      const known = pins.get(key) ?? choosePins(places, { agent, server })
      pins.set(key, known)
      if (pins.size > MOST_PINS) pins.delete(pins.keys().next().value ?? '')
      return known
    },
    session: (agent, sessionId, token) => pool.get(agent, sessionId, token).session,
    endSession: (agent, sessionId) => void pool.end(agent, sessionId).catch(() => {}),
  })
  return [route]
}

/** Agents come from paths: what the service or a file keeps can be forgotten here. */
const MOST_PINS = 1_000
