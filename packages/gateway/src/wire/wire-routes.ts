import { GatewayProblem } from '../base/problems.js'
import { PROVIDERS } from '../base/setting-values.js'
import type { GatewaySettings } from '../base/settings.js'
import type { Route } from '../http/route.js'

export interface WireParts {
  readonly log: (line: string) => void
  readonly fetch: typeof globalThis.fetch
}

/** The wires of the model providers, each under its name. */
export function createWireRoutes(_settings: GatewaySettings, _parts: WireParts): Route[] {
  return PROVIDERS.map((name) => ({
    name,
    async handle({ method, path }) {
      throw new GatewayProblem('not_governed', `${method} ${path} is not governed yet`)
    },
  }))
}
