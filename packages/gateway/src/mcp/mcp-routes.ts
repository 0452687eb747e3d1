import { isEnforced, type SessionParts } from '../base/session-options.js'
import type { GatewaySettings } from '../base/settings.js'
import type { Route } from '../http/route.js'
import type { SessionPool } from '../wire/session-pool.js'
import { createFilePins } from './file-pins.js'
import { createMcpRoute } from './mcp-route.js'
import { createMemoryPins, type DefinitionPins } from './tool-catalog.js'

/** The route of the MCP servers, where there are any. Their calls belong to the sessions in which models propose them. */
export function createMcpRoutes(settings: GatewaySettings, parts: SessionParts, pool: SessionPool): Route[] {
  const { mcpServers, mcpPins } = settings
  if (mcpServers === null) return []
  const pins = new Map<string, DefinitionPins>()
  const route = createMcpRoute({
    servers: mcpServers,
    apiKey: parts.apiKey,
    fetch: parts.fetch,
    idleMs: settings.upstreamSeconds * 1_000,
    maxBytes: settings.maxBodyMb * 1024 * 1024,
    requiresProposal: settings.requireProposal && isEnforced(settings),
    pins(agent, server) {
      const key = `${agent}\n${server}`
      const known =
        pins.get(key) ?? (mcpPins === null ? createMemoryPins() : createFilePins(mcpPins, { agent, server }))
      pins.set(key, known)
      return known
    },
    session: (agent, sessionId) => pool.get(agent, sessionId).session,
  })
  return [route]
}
