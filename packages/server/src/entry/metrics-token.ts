import { timingSafeEqual } from 'node:crypto'
import { ApiError, unauthenticated } from '../base/api-error.js'
import { sha256 } from '../base/crypto/secrets.js'

/** Metrics tell how busy a service is and what it blocks: they need the operator's token. */
export function requireMetricsToken(token: string | null, authorization: string | null): void {
  if (token === null) throw new ApiError('NOT_FOUND', { detail: 'metrics are off: set COUNTERSIGN_METRICS_TOKEN' })
  if (!timingSafeEqual(sha256(authorization ?? ''), sha256(`Bearer ${token}`))) throw unauthenticated()
}
