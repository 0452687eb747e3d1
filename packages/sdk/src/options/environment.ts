import type { Environment } from '@countersign/protocol'

export const DEFAULT_BASE_URL = 'http://127.0.0.1:4319'

/** What the SDK reads from the environment, and nothing else does. */
export interface SdkEnvironment {
  /** COUNTERSIGN_API_KEY; null if not set. */
  readonly apiKey: string | null
  /** COUNTERSIGN_API_KEY is set, and blank: a secret did not arrive. */
  readonly isKeyEmpty: boolean
  /** COUNTERSIGN_API_URL; null if not set. */
  readonly apiUrl: string | null
  /** COUNTERSIGN_ENVIRONMENT, else NODE_ENV, as written; null if neither is set. */
  readonly environment: string | null
  /** COUNTERSIGN_DISABLE: nothing is captured. */
  readonly captureDisabled: boolean
  /** NODE_APP_INSTANCE, set by process managers that run several instances of a program. */
  readonly appInstance: string | null
}

/** Reads the variables that the SDK knows. */
export function readEnvironment(env: NodeJS.ProcessEnv = process.env): SdkEnvironment {
  return {
    apiKey: filled(env.COUNTERSIGN_API_KEY),
    isKeyEmpty: env.COUNTERSIGN_API_KEY?.trim() === '',
    apiUrl: filled(env.COUNTERSIGN_API_URL),
    environment: filled(env.COUNTERSIGN_ENVIRONMENT) ?? filled(env.NODE_ENV),
    captureDisabled: saysYes(env.COUNTERSIGN_DISABLE ?? ''),
    appInstance: filled(env.NODE_APP_INSTANCE),
  }
}

const ENVIRONMENTS: readonly Environment[] = ['development', 'staging', 'production']

/** An unknown environment is treated as the strictest one. */
export function environmentOf(given: string | null): { environment: Environment; known: boolean } {
  const known = ENVIRONMENTS.find((name) => name === given)
  return { environment: known ?? 'production', known: known !== undefined }
}

/** What is wrong with the URL of a server; null if it can be used. It is not repeated: it may contain a password. */
export function addressProblem(address: unknown): string | null {
  const parsed = typeof address === 'string' && URL.canParse(address) ? new URL(address) : null
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    return `must be an http or https URL, such as ${DEFAULT_BASE_URL}`
  return /\/api(\/v1)?\/?$/.test(parsed.pathname) ? 'must be the URL of the server alone, without /api/v1' : null
}

/** How a variable says yes: COUNTERSIGN_DISABLE, or one that a program passes on. */
export const saysYes = (text: string): boolean => /^(true|1|yes|on)$/i.test(text.trim())

function filled(value: string | undefined): string | null {
  const trimmed = value?.trim() ?? ''
  return trimmed === '' ? null : trimmed
}
