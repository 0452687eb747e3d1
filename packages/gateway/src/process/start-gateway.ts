import type { AddressInfo } from 'node:net'
import type { Diagnostic } from '@countersign/sdk'
import { collectDefaultMetrics } from 'prom-client'
import { createLog } from '../base/log.js'
import { createMetrics } from '../base/metrics.js'
import type { SessionParts } from '../base/session-options.js'
import { type GatewaySettings, SettingsError } from '../base/settings.js'
import { createHookRoute } from '../hooks/hook-routes.js'
import { createHttpServer } from '../http/http-server.js'
import { createLimits } from '../http/limits.js'
import { createOwnPages } from '../http/own-pages.js'
import type { Route } from '../http/route.js'
import { trackConnections } from '../http/track-connections.js'
import { createMcpRoutes } from '../mcp/mcp-routes.js'
import { createWireRoutes } from '../wire/wire-routes.js'
import { serviceProblem } from './describe-start.js'

export interface Gateway {
  /** Without a path: `http://127.0.0.1:4320`. */
  readonly url: string
  /** Ends the requests in flight and stops. */
  close(): Promise<void>
}

export interface GatewayParts {
  /** Gets the lines of the log; left out, standard output does. */
  readonly log?: (line: string) => void
  /** Sends requests to upstreams and to the service. Left out: the global one, and to the service as the SDK does. */
  readonly fetch?: typeof globalThis.fetch
}

/** Everything that the gateway serves, each under `/{agent}/{name}`. Models and MCP meet in the same sessions. */
function routesOf(settings: GatewaySettings, parts: RouteParts) {
  const { routes, pool } = createWireRoutes(settings, parts)
  const all: Route[] = [...routes, ...createMcpRoutes(settings, parts, pool), createHookRoute(settings, parts)]
  return { routes: all, pool }
}

interface RouteParts extends SessionParts {
  /** Sends requests to upstreams. */
  readonly upstream: typeof globalThis.fetch
}

export async function startGateway(settings: GatewaySettings, parts: GatewayParts): Promise<Gateway> {
  const { apiKey } = settings
  if (apiKey === null) {
    throw new SettingsError(
      'COUNTERSIGN_API_KEY is not set: export the API key that npm start prints, or the one of your tenant',
    )
  }
  const { fetch = globalThis.fetch } = parts
  const log = createLog({ level: settings.logLevel, write: parts.log })
  const metrics = createMetrics()
  collectDefaultMetrics({ register: metrics.registry })
  const diagnostics = (event: Diagnostic) => {
    // What every session says of itself when it goes well is no news.
    if (event.type === 'governance_attachment' && event.state === 'attached') return
    metrics.diagnostics.inc({ type: event.type })
    log.warn({ diagnostic: event }, event.type)
  }
  const { routes, pool } = routesOf(settings, { diagnostics, apiKey, fetch: parts.fetch, upstream: fetch })
  const server = createHttpServer({
    routes,
    host: settings.host,
    agent: settings.agent,
    maxBodyBytes: settings.maxBodyMb * 1024 * 1024,
    bodyTimeoutMs: settings.bodySeconds * 1000,
    limits: createLimits(),
    maxConnections: settings.maxConnections,
    log,
    metrics,
    pages: createOwnPages({
      metrics,
      metricsToken: settings.metricsToken,
      problem: async () => {
        const problem = await serviceProblem(settings, fetch)
        return problem === null ? null : `the service ${problem}`
      },
    }),
  })
  const closeUnused = trackConnections(server)
  await new Promise<void>((done, fail) => {
    server.once('error', (error: NodeJS.ErrnoException) => fail(listenProblem(error, settings)))
    server.listen(settings.port, settings.host, done)
  })
  const { port } = server.address() as AddressInfo
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host
  return {
    url: `http://${host}:${port}`,
    async close() {
      const closed = new Promise<void>((done) => server.close(() => done()))
      for (const route of routes) route.stopping?.()
      closeUnused()
      await closed
      for (const route of routes) await route.close?.()
      await pool.close()
    },
  }
}

const LISTEN_PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use: another gateway may be running; stop it, or choose another with --port',
  EACCES: 'needs more permissions, as ports below 1024 do: choose another with --port',
  EADDRNOTAVAIL: 'is not an address of this machine: choose another with --host',
  ENOTFOUND: 'is not an address of this machine: choose another with --host',
}

function listenProblem(error: NodeJS.ErrnoException, { host, port }: GatewaySettings): Error {
  const problem = LISTEN_PROBLEMS[error.code ?? '']
  return problem === undefined ? error : new SettingsError(`${host}:${port} ${problem}`)
}
