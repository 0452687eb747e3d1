import { isEnforced, type SessionParts } from '../base/session-options.js'
import type { GatewaySettings } from '../base/settings.js'
import type { Route } from '../http/route.js'
import type { SessionPool } from '../wire/session-pool.js'
import { createFilePins } from './file-pins.js'
import { createMcpRoute } from './mcp-route.js'
import { createServicePins } from './service-pins.js'
import { createMemoryPins, type DefinitionPins } from './tool-catalog.js'

/** The route of the MCP servers, where there are any. Their calls belong to the sessions in which models propose them. */
export function createMcpRoutes(settings: GatewaySettings, parts: SessionParts, pool: SessionPool): Route[] {
  const { mcpServers } = settings
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
      const known = pins.get(key) ?? pinsOf(settings, parts, { agent, server })
      pins.set(key, known)
      if (pins.size > MOST_PINS) pins.delete(pins.keys().next().value ?? '')
      return known
    },
    session: (agent, sessionId) => pool.get(agent, sessionId).session,
  })
  return [route]
}

/** Agents come from paths: what the service or a file keeps can be forgotten here. */
const MOST_PINS = 1_000

/** In a file, where one is named; else the service keeps them. Where nothing is enforced, it need not be there. */
function pinsOf(
  settings: GatewaySettings,
  { apiKey, fetch }: SessionParts,
  { agent, server }: { readonly agent: string; readonly server: string },
): DefinitionPins {
  const { mcpPins, environment, apiUrl: runtimeUrl } = settings
  if (mcpPins !== null) return createFilePins(mcpPins, { agent, server })
  if (!isEnforced(settings)) return createMemoryPins()
  return createServicePins({ apiKey, runtimeUrl, agent, environment, server, fetch })
}
