import { API_KEY_PATTERN, type Bucket, type Quota } from '@countersign/protocol'
import { ApiError } from '../api-error.js'
import type { QuotaNumbers } from '../config.js'
import { sha256 } from '../crypto/secrets.js'
import { type KeyHolder, type KeyUse, useKey } from '../store/api-keys.js'
import type { Sql } from '../store/database.js'
import type { KeyUsage } from './key-usage.js'

/** One answer for every failure, so that nothing can be learned from it. */
export const unauthenticated = () => new ApiError('UNAUTHENTICATED', {}, { 'www-authenticate': 'Bearer' })

export interface KeyAuthentication {
  sql: Sql
  keyUsage: KeyUsage
  quotas: QuotaNumbers
}

/**
 * In the order of the specification: the bearer token, its form, its hash looked up, not revoked, tenant and user.
 * The same statement takes the token from the tenant's bucket; whether it got one is `throttle`'s to judge.
 */
export async function authenticateKey(
  { sql, keyUsage, quotas }: KeyAuthentication,
  request: { authorization: string | null; bucket: Bucket; session?: KeyUse['session'] },
): Promise<KeyHolder> {
  const key = bearerToken(request.authorization)
  if (key === null || !API_KEY_PATTERN.test(key)) throw unauthenticated()
  const { bucket, session = null } = request
  const holder = await useKey(sql, { keyHash: sha256(key), bucket, perMinute: ratesOf(quotas, bucket), session })
  if (holder === null) throw unauthenticated()
  keyUsage.note(holder.tenantId, holder.keyId)
  if (!holder.verified) throw new ApiError('EMAIL_NOT_VERIFIED')
  return holder
}

/** Two Authorization headers arrive joined by a comma and are no bearer token. */
function bearerToken(authorization: string | null): string | null {
  return /^bearer ([^\s,]+)$/i.exec(authorization ?? '')?.[1] ?? null
}

const ratesOf = (quotas: QuotaNumbers, bucket: Bucket): Record<Quota, number> => ({
  free: quotas.free[bucket],
  team: quotas.team[bucket],
  scale: quotas.scale[bucket],
})
