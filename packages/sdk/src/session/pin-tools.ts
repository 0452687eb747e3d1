import type { Environment, JsonObject } from '@countersign/protocol'
import { createTransport } from '../authority/transport.js'
import { exchangeBy } from '../base/exchange.js'

/** Definitions of the tools of one server. */
export interface SeenTools {
  /** API key of the tenant. */
  readonly apiKey: string
  /** URL of the server. */
  readonly runtimeUrl: string
  /** The agent that uses the tools. */
  readonly agent: string
  /** The environment that it runs in. */
  readonly environment: Environment
  /** The server, as contracts name it; empty where they name its tools alone. */
  readonly server: string
  /** What the server says of its tools. */
  readonly tools: readonly { readonly name: string; readonly definition: JsonObject }[]
  /** Sends the request. Node's HTTP client, where it is left out. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** So many definitions fit in one request, unless they are very long. */
const AT_ONCE = 100

/**
 * Pins definitions that are seen for the first time; gives the names of the tools whose definition is another than the
 * pinned one. Throws when the service cannot be asked.
 */
export async function pinTools(seen: SeenTools): Promise<ReadonlySet<string>> {
  const { apiKey, runtimeUrl, agent, environment, server, tools, fetch } = seen
  const transport = createTransport({ baseUrl: runtimeUrl, apiKey, timeoutMs: 10_000, exchange: exchangeBy(fetch) })
  const found = new Set<string>()
  for (let at = 0; at < tools.length; at += AT_ONCE) {
    const body = { agent, environment, server, tools: tools.slice(at, at + AT_ONCE) }
    const { changed } = await transport.call('pinTools', { body })
    for (const name of changed) found.add(name)
  }
  return found
}
