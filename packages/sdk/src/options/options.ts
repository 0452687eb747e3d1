import type { Environment } from '@countersign/protocol'

export const DEFAULT_BASE_URL = 'http://127.0.0.1:4319'

/** What the SDK takes from the environment. Nothing else in it reads `process.env`. */
export interface SdkEnvironment {
  readonly apiKey: string | null
  readonly apiUrl: string | null
  /** COUNTERSIGN_ENVIRONMENT, else NODE_ENV, as written; null when neither is set. */
  readonly environment: string | null
  /** COUNTERSIGN_DISABLE: captures are neither made nor sent. */
  readonly captureDisabled: boolean
  /** Set by process managers that run several instances of one program. */
  readonly appInstance: string | null
}

export function readEnvironment(env: NodeJS.ProcessEnv = process.env): SdkEnvironment {
  return {
    apiKey: filled(env.COUNTERSIGN_API_KEY),
    apiUrl: filled(env.COUNTERSIGN_API_URL),
    environment: filled(env.COUNTERSIGN_ENVIRONMENT) ?? filled(env.NODE_ENV),
    captureDisabled: saysYes(env.COUNTERSIGN_DISABLE ?? ''),
    appInstance: filled(env.NODE_APP_INSTANCE),
  }
}

const ENVIRONMENTS: readonly Environment[] = ['development', 'staging', 'production']

/** An environment that is not known is treated as the strictest one. */
export function environmentOf(given: string | null): { environment: Environment; known: boolean } {
  const known = ENVIRONMENTS.find((name) => name === given)
  return { environment: known ?? 'production', known: known !== undefined }
}

/** What is wrong with the address of a service; null when it can be used. */
export function addressProblem(address: string): string | null {
  const parsed = URL.canParse(address) ? new URL(address) : null
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    return 'must be an http or https address, such as http://127.0.0.1:4319'
  }
  return /\/api(\/v1)?\/?$/.test(parsed.pathname) ? 'must be the address alone, without /api/v1' : null
}

/** How COUNTERSIGN_DISABLE, and a program that hands a variable on, say yes. */
export const saysYes = (text: string): boolean => /^(true|1|yes|on)$/i.test(text.trim())

function filled(value: string | undefined): string | null {
  const trimmed = value?.trim() ?? ''
  return trimmed === '' ? null : trimmed
}
