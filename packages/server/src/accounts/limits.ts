import { createHash } from 'node:crypto'
import { LIMITS } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { OpenContext } from '../context/context.js'
import { inEntrance } from '../entry/senders.js'
import { type Take, takeToken } from '../store/accounts/buckets.js'

const HOUR_SECONDS = 3_600

interface Limit {
  readonly capacity: number
  readonly fillSeconds: number
}

/** Limits of what strangers may ask for, by whom they are counted. */
const ACCOUNT_LIMITS = {
  signup_ip: { capacity: LIMITS.signupsPerHourPerIp, fillSeconds: HOUR_SECONDS },
  forgot_email: { capacity: LIMITS.forgotPasswordPerHourPerEmail, fillSeconds: HOUR_SECONDS },
  forgot_ip: { capacity: 30, fillSeconds: HOUR_SECONDS },
  resend_email: { capacity: LIMITS.resendVerificationPerHour, fillSeconds: HOUR_SECONDS },
  resend_ip: { capacity: 30, fillSeconds: HOUR_SECONDS },
  /** One account from one address: a stranger who has used it up leaves the owner's tries alone. */
  login_pair: { capacity: 10, fillSeconds: 900 },
  login_ip: { capacity: 50, fillSeconds: 900 },
  /** One account from everywhere, so that many addresses together cannot guess on. */
  login_email: { capacity: 100, fillSeconds: 900 },
  /** One account from one browser that has signed in to it before: what strangers do is not counted here. */
  login_device: { capacity: 10, fillSeconds: 900 },
  /** Tries to prove one's password once more, while signed in. */
  password_change: { capacity: 10, fillSeconds: 900 },
  /** Answers of one member to questions. */
  answers: { capacity: LIMITS.answersPerMinutePerMember, fillSeconds: 60 },
  /** Tests of webhooks of one tenant: each lets the service ask an address that a person named. */
  webhook_tests: { capacity: 10, fillSeconds: 60 },
  /** Two for each sign-in at a provider, and a company may come from one address. */
  oidc_ip: { capacity: 600, fillSeconds: 900 },
  token_ip: { capacity: 30, fillSeconds: 900 },
} as const satisfies Record<string, Limit>
export type AccountLimit = keyof typeof ACCOUNT_LIMITS

/** Takes from the limit. Returns after how many seconds it will have a token again; 0: it had one. */
export async function takeOrWait(ctx: OpenContext, limit: AccountLimit, owner: string): Promise<number> {
  const { taken, tokens } = await inEntrance(ctx, (sql) => takeToken(sql, bucketOf(limit, owner)))
  const { capacity, fillSeconds } = ACCOUNT_LIMITS[limit]
  return taken ? 0 : Math.max(1, Math.ceil(((1 - tokens) * fillSeconds) / capacity))
}

/** Takes from the limit or refuses with 429. */
export async function requireToken(ctx: OpenContext, limit: AccountLimit, owner: string): Promise<void> {
  if ((await takeOrWait(ctx, limit, owner)) === 0) return
  // The same for all: how much of it others have used is not told.
  const { capacity, fillSeconds } = ACCOUNT_LIMITS[limit]
  throw new ApiError('RATE_LIMITED', {}, { 'retry-after': String(Math.ceil(fillSeconds / capacity)) })
}

/** Addresses and e-mails are stored as hashes: the table of buckets is no address book. */
const bucketOf = (limit: AccountLimit, owner: string): Take => ({
  owner: createHash('sha256').update(owner).digest('base64url'),
  bucket: limit,
  ...ACCOUNT_LIMITS[limit],
})
