import { type Environment, LIMITS } from '@countersign/protocol'
import { createTransport } from '../authority/transport.js'
import { messageOf } from '../base/diagnostics.js'
import { ReplayUnavailableError } from '../base/errors.js'
import { exchangeBy } from '../base/exchange.js'

/** Where sessions are looked for. */
export interface SessionSearch {
  /** API key of the tenant. */
  readonly apiKey: string
  /** URL of the server. */
  readonly runtimeUrl: string
  /** The agent whose sessions count. */
  readonly agent: string
  /** The environment whose sessions count. */
  readonly environment: Environment
  /** Ids of calls and responses in a conversation, the newest last. */
  readonly ids: readonly string[]
  /** Sends the request. Node's HTTP client, where it is left out. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/**
 * Finds the session whose calls stand in a conversation, among those of one agent; null where there is none. Throws when
 * the server cannot be asked.
 */
export async function findSession({
  apiKey,
  runtimeUrl,
  agent,
  environment,
  ids,
  fetch,
}: SessionSearch): Promise<string | null> {
  const transport = createTransport({ baseUrl: runtimeUrl, apiKey, timeoutMs: 10_000, exchange: exchangeBy(fetch) })
  const body = { agent, environment, ids: ids.slice(-LIMITS.findableIds) }
  try {
    const { session_id: sessionId } = await transport.call('findSession', { body })
    return sessionId
  } catch (error) {
    throw new ReplayUnavailableError(`the session of this conversation cannot be found: ${messageOf(error)}`, {
      cause: error,
    })
  }
}
