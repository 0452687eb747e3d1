import type { AddressInfo } from 'node:net'
import type { GatewaySettings } from '../base/settings.js'
import { createHttpServer } from '../http/http-server.js'
import type { Route } from '../http/route.js'
import { createWireRoutes } from '../wire/wire-routes.js'

export interface Gateway {
  /** Without a path: `http://127.0.0.1:4320`. */
  readonly url: string
  /** Ends the requests in flight and stops. */
  close(): Promise<void>
}

export interface GatewayParts {
  readonly log: (line: string) => void
  /** Sends requests to upstreams and to the server. */
  readonly fetch: typeof globalThis.fetch
}

/** Everything that the gateway serves, each under `/{agent}/{name}`. */
const routesOf = (settings: GatewaySettings, parts: GatewayParts): Route[] => [...createWireRoutes(settings, parts)]

export async function startGateway(settings: GatewaySettings, parts: GatewayParts): Promise<Gateway> {
  const routes = routesOf(settings, parts)
  const server = createHttpServer({
    routes,
    agent: settings.agent,
    maxBodyBytes: settings.maxBodyMb * 1024 * 1024,
    bodyTimeoutMs: settings.bodySeconds * 1000,
    log: parts.log,
  })
  await new Promise<void>((done, fail) => {
    server.once('error', fail).listen(settings.port, settings.host, done)
  })
  const { port } = server.address() as AddressInfo
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host
  return {
    url: `http://${host}:${port}`,
    async close() {
      const closed = new Promise<void>((done) => server.close(() => done()))
      server.closeIdleConnections()
      await closed
      for (const route of routes) await route.close?.()
    },
  }
}
