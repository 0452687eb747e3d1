import type { Bucket } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { ReplyHeaders } from '../context/reply-headers.js'

export interface Allowance {
  bucket: Bucket
  perMinute: number
  taken: boolean
  /** What is left in the bucket. */
  tokens: number
}

/**
 * Says how much is left, as the IETF draft "RateLimit header fields for HTTP" writes it, and refuses with 429 when the
 * bucket had no token.
 */
export function throttle({ bucket, perMinute, taken, tokens }: Allowance, replyHeaders: ReplyHeaders): void {
  const secondsUntilFull = Math.ceil(((perMinute - tokens) * 60) / perMinute)
  replyHeaders.set('ratelimit-policy', `"${bucket}";q=${perMinute};w=60`)
  replyHeaders.set('ratelimit', `"${bucket}";r=${Math.max(0, Math.floor(tokens))};t=${Math.max(0, secondsUntilFull)}`)
  if (taken) return
  const waitSeconds = Math.max(1, Math.ceil(((1 - tokens) * 60) / perMinute))
  throw new ApiError('RATE_LIMITED', {}, { 'retry-after': String(waitSeconds) })
}
