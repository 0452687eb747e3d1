import { API_KEY_PATTERN, type Bucket, type Quota } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { QuotaNumbers } from '../base/config.js'
import { sha256 } from '../base/crypto/secrets.js'
import type { HttpRequest } from '../context/http-request.js'
import type { Sql } from '../postgres/sql.js'
import { type KeyHolder, type KeyUse, useKey } from '../store/accounts/api-keys.js'
import type { KeyUsage } from './key-usage.js'
import type { Order, Passes } from './prepaid-tokens.js'

/** One answer for every failure, so that nothing can be learned from it. */
export const unauthenticated = () => new ApiError('UNAUTHENTICATED', {}, { 'www-authenticate': 'Bearer' })

export interface KeyAuthentication {
  sql: Sql
  keyUsage: KeyUsage
  passes: Passes
  quotas: QuotaNumbers
}

/** What each connection said last, as long as it lives: a client says the same with every request. */
const saidBefore = new WeakMap<object, { readonly authorization: string; readonly keyHash: Buffer }>()

/** The hash of the bearer token, which must have the form of a key. */
export function keyHashOf({ header, incoming }: Pick<HttpRequest, 'header' | 'incoming'>): Buffer {
  const authorization = header('authorization') ?? ''
  const before = saidBefore.get(incoming.socket)
  if (before?.authorization === authorization) return before.keyHash
  const key = bearerToken(authorization)
  if (key === null || !API_KEY_PATTERN.test(key)) throw unauthenticated()
  const keyHash = sha256(key)
  saidBefore.set(incoming.socket, { authorization, keyHash })
  return keyHash
}

/**
 * In the order of the specification, after the token and its form: its hash looked up, not revoked, tenant and user.
 * The same statement takes the token from the tenant's bucket; whether it got one is `throttle`'s to judge.
 */
export async function authenticateKey(
  keys: KeyAuthentication,
  { keyHash, bucket, session = null }: NamedKey & { session?: KeyUse['session'] },
): Promise<KeyHolder> {
  const holder = await take(keys, { keyHash, bucket, session }, keys.passes.order(keyHash, bucket))
  if (holder === null) throw unauthenticated()
  keys.keyUsage.note(holder.tenantId, holder.keyId)
  if (!holder.verified) throw new ApiError('EMAIL_NOT_VERIFIED')
  return holder
}

/** Pays for more requests of a busy key. Whatever comes of it, the requests that follow are answered by what they meet. */
export async function renewPasses(keys: KeyAuthentication, { keyHash, bucket }: NamedKey): Promise<void> {
  const order = keys.passes.renewal(keyHash, bucket)
  await take(keys, { keyHash, bucket, session: null }, order).catch(() => {})
}

interface NamedKey {
  readonly keyHash: Buffer
  readonly bucket: Bucket
}

/** Recognises the key and takes what is ordered from its tenant's bucket. Null: there is no such key. */
async function take(
  { sql, quotas }: KeyAuthentication,
  { keyHash, bucket, session }: NamedKey & { session: NonNullable<KeyUse['session']> | null },
  { wanted, returned, deliver }: Order,
): Promise<KeyHolder | null> {
  const use = { keyHash, bucket, perMinute: ratesOf(quotas, bucket), wanted, returned, session }
  const holder = await useKey(sql, use).catch((error: unknown) => {
    deliver(null)
    throw error
  })
  const { granted, tokens } = holder ?? { granted: null, tokens: null }
  const isPaid = holder !== null && granted !== null && tokens !== null && granted > 0
  deliver(isPaid ? { holder, perMinute: quotas[holder.quota][bucket], granted, tokens, now: holder.now } : null)
  return holder
}

/** Two Authorization headers arrive joined by a comma and are no bearer token. */
function bearerToken(authorization: string): string | null {
  return /^bearer ([^\s,]+)$/i.exec(authorization)?.[1] ?? null
}

const ratesOf = (quotas: QuotaNumbers, bucket: Bucket): Record<Quota, number> => ({
  free: quotas.free[bucket],
  team: quotas.team[bucket],
  scale: quotas.scale[bucket],
})
