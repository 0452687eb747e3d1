import type { RateBucket } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { ReplyHeaders } from '../context/reply-headers.js'

export interface Draw {
  taken: boolean
  /** What is left in the bucket. */
  tokens: number
}

/**
 * Says how much is left, as the IETF draft "RateLimit header fields for HTTP" writes it, and refuses with 429 when the
 * bucket had no token. A stop draws from none.
 */
export function throttle(from: RateBucket | null, { taken, tokens }: Draw, replyHeaders: ReplyHeaders): void {
  if (from === null) return
  const { bucket, perMinute } = from
  const secondsUntilFull = Math.ceil(((perMinute - tokens) * 60) / perMinute)
  replyHeaders.set('ratelimit-policy', `"${bucket}";q=${perMinute};w=60`)
  replyHeaders.set('ratelimit', `"${bucket}";r=${Math.max(0, Math.floor(tokens))};t=${Math.max(0, secondsUntilFull)}`)
  if (taken) return
  const waitSeconds = Math.max(1, Math.ceil(((1 - tokens) * 60) / perMinute))
  throw new ApiError('RATE_LIMITED', {}, { 'retry-after': String(waitSeconds) })
}
