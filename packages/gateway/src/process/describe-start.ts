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

/** Whether the service answers, and takes the key: found out by a request that changes nothing. */
export async function describeService(
  { apiUrl, apiKey }: GatewaySettings,
  fetch: typeof globalThis.fetch,
): Promise<string> {
  const service = `  service: ${apiUrl}`
  try {
    const response = await fetch(`${apiUrl}${ROUTES.listSessionsByKey.path}?limit=1`, {
      headers: { authorization: `Bearer ${apiKey}` },
      redirect: 'manual',
      signal: AbortSignal.timeout(SERVICE_MS),
    })
    await response.body?.cancel()
    if (response.ok) return `${service} answers and takes the API key`
    if (response.status === 401)
      return `${service} DOES NOT TAKE THE API KEY: set COUNTERSIGN_API_KEY to one of its keys`
    return `${service} ANSWERS ${response.status}: check that it is a Countersign service (--api-url), and its log`
  } catch {
    return `${service} DOES NOT ANSWER: start it, or set --api-url`
  }
}
