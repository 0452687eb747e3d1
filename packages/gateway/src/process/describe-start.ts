import { ROUTES } from '@countersign/protocol'
import { isEnforced } from '../base/session-options.js'
import type { GatewaySettings } from '../base/settings.js'

const SERVICE_MS = 3_000

/** What an operator checks first: what calls meet, and where requests go. */
export function describeSettings(settings: GatewaySettings): string[] {
  const { mode, environment, upstreams, mcpServers } = settings
  const meets = mode ?? (isEnforced(settings) ? 'enforce' : 'shadow')
  return [
    `  mode: ${meets}, environment: ${environment}`,
    `  upstreams: ${Object.entries(upstreams)
      .map(([name, url]) => `${name} ${url}`)
      .join(', ')}`,
    ...(mcpServers === null ? [] : [`  MCP servers: ${[...mcpServers.keys()].join(', ')}`]),
  ]
}

/** What is wrong with the service, or null: found out by a request that changes nothing. */
export async function serviceProblem(
  { apiUrl, apiKey }: GatewaySettings,
  fetch: typeof globalThis.fetch,
): Promise<string | null> {
  try {
    const response = await fetch(`${apiUrl}${ROUTES.listSessionsByKey.path}?limit=1`, {
      headers: { authorization: `Bearer ${apiKey}` },
      redirect: 'manual',
      signal: AbortSignal.timeout(SERVICE_MS),
    })
    await response.body?.cancel()
    if (response.ok) return null
    if (response.status === 401) return 'DOES NOT TAKE THE API KEY: set COUNTERSIGN_API_KEY to one of its keys'
    return `ANSWERS ${response.status}: check that it is a Countersign service (--api-url), and its log`
  } catch {
    return 'DOES NOT ANSWER: start it, or set --api-url'
  }
}

export async function describeService(settings: GatewaySettings, fetch: typeof globalThis.fetch): Promise<string> {
  const problem = await serviceProblem(settings, fetch)
  return `  service: ${settings.apiUrl} ${problem ?? 'answers and takes the API key'}`
}
