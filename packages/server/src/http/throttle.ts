import type { Bucket } from '@countersign/protocol'
import { ApiError } from '../api-error.js'

export interface Allowance {
  bucket: Bucket
  perMinute: number
  taken: boolean
  /** What is left in the bucket. */
  tokens: number
}

/** Says how much is left, and refuses with 429 when the bucket had no token. */
export function throttle(allowance: Allowance, replyHeaders: Headers): void {
  for (const [name, value] of Object.entries(rateLimitHeaders(allowance))) replyHeaders.set(name, value)
  if (allowance.taken) return
  const waitSeconds = Math.max(1, Math.ceil(((1 - allowance.tokens) * 60) / allowance.perMinute))
  throw new ApiError('RATE_LIMITED', {}, { 'retry-after': String(waitSeconds) })
}

/** As the IETF draft "RateLimit header fields for HTTP" writes them. */
function rateLimitHeaders({ bucket, perMinute, tokens }: Allowance): Record<string, string> {
  const secondsUntilFull = Math.ceil(((perMinute - tokens) * 60) / perMinute)
  return {
    'ratelimit-policy': `"${bucket}";q=${perMinute};w=60`,
    ratelimit: `"${bucket}";r=${Math.max(0, Math.floor(tokens))};t=${Math.max(0, secondsUntilFull)}`,
  }
}
