import { type Diagnostic, openSession } from '@countersign/sdk'
import type { GatewaySettings } from '../base/settings.js'
import type { Route } from '../http/route.js'
import { createFilePins } from './file-pins.js'
import { createMcpRoute } from './mcp-route.js'
import { createMemoryPins, type DefinitionPins } from './tool-catalog.js'

export interface McpParts {
  readonly log: (line: string) => void
  readonly fetch: typeof globalThis.fetch
  readonly apiKey: string
}

const MODES = { observe: 'log-only', shadow: 'shadow', enforce: 'enforce' } as const

/** The route of the MCP servers, where there are any. */
export function createMcpRoutes(settings: GatewaySettings, { log, fetch, apiKey }: McpParts): Route[] {
  const { mcpServers, mcpPins, apiUrl, environment, mode, captureLevel, unmatchedPolicy, principal } = settings
  if (mcpServers === null) return []
  const pins = new Map<string, DefinitionPins>()
  const route = createMcpRoute({
    servers: mcpServers,
    apiKey,
    fetch,
    idleMs: settings.upstreamSeconds * 1_000,
    maxBytes: settings.maxBodyMb * 1024 * 1024,
    pins(agent, server) {
      const key = `${agent}\n${server}`
      const known =
        pins.get(key) ?? (mcpPins === null ? createMemoryPins() : createFilePins(mcpPins, { agent, server }))
      pins.set(key, known)
      return known
    },
    open: (agent, sessionId) =>
      openSession({
        agent,
        sessionId,
        apiKey,
        runtimeUrl: apiUrl,
        environment,
        captureLevel,
        unmatchedPolicy,
        fetch,
        tools: {},
        ...(mode !== null && { mode: MODES[mode] }),
        ...(principal !== null && { principal }),
        diagnostics: (event) => logDiagnostic(event, log),
      }),
  })
  return [route]
}

/** What every session says of itself when it goes well is no news. */
function logDiagnostic(event: Diagnostic, log: (line: string) => void): void {
  if (event.type === 'governance_attachment' && event.state === 'attached') return
  log(JSON.stringify(event))
}
