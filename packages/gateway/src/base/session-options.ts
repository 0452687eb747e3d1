import type { Diagnostic, ReplayOptions } from '@countersign/sdk'
import type { GatewaySettings } from './settings.js'

export interface SessionParts {
  readonly apiKey: string
  /** Sends requests to the service; left out, as the SDK does. */
  readonly fetch: typeof globalThis.fetch | undefined
  /** Gets what sessions report. */
  readonly diagnostics: (event: Diagnostic) => void
}

/** Verdicts stop calls: the server governs the sessions, and knows them. */
export const isEnforced = ({ mode, environment }: GatewaySettings): boolean =>
  mode === null ? environment !== 'development' : mode === 'enforce'

const MODES = { observe: 'log-only', shadow: 'shadow', enforce: 'enforce' } as const

export interface OpenedBy {
  readonly agent: string
  readonly sessionId: string
  /** The newest that a request brought, which wins over the principal of the settings. Null: none did. */
  readonly principalToken: (() => string) | null
}

/** What every session of the gateway is opened with, whichever way its calls come. */
export function sessionOptions(
  { apiUrl, environment, mode, captureLevel, unmatchedPolicy, principal }: GatewaySettings,
  { apiKey, fetch, diagnostics }: SessionParts,
  { agent, sessionId, principalToken }: OpenedBy,
): ReplayOptions & { readonly agent: string } {
  return {
    agent,
    sessionId,
    apiKey,
    runtimeUrl: apiUrl,
    environment,
    captureLevel,
    unmatchedPolicy,
    ...(fetch !== undefined && { fetch }),
    ...(mode !== null && { mode: MODES[mode] }),
    ...(principalToken !== null ? { principalToken } : principal !== null && { principal }),
    diagnostics,
  }
}
