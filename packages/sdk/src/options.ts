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
    captureDisabled: /^(true|1|yes|on)$/i.test(env.COUNTERSIGN_DISABLE?.trim() ?? ''),
    appInstance: filled(env.NODE_APP_INSTANCE),
  }
}

const ENVIRONMENTS: readonly Environment[] = ['development', 'staging', 'production']

/** An environment that is not known is treated as the strictest one. */
export function environmentOf(given: string | null): { environment: Environment; known: boolean } {
  const known = ENVIRONMENTS.find((name) => name === given)
  return { environment: known ?? 'production', known: known !== undefined }
}

function filled(value: string | undefined): string | null {
  const trimmed = value?.trim() ?? ''
  return trimmed === '' ? null : trimmed
}
