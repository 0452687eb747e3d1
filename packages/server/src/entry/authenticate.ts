import {
  API_KEY_PATTERN,
  bucketFor,
  type KeyAccess,
  type Quota,
  type RateBucket,
  type Throttled,
} from '@countersign/protocol'
import { ApiError, unauthenticated } from '../base/api-error.js'
import type { Quotas } from '../base/config.js'
import { sha256 } from '../base/crypto/secrets.js'
import { type Cache, ENTRY_BYTES } from '../base/memories.js'
import type { HttpRequest } from '../context/http-request.js'
import type { Database } from '../postgres/database.js'
import type { Sql } from '../postgres/sql.js'
import { findTenantOfKey, type KeyHolder, type KeyUse, useKey } from '../store/accounts/api-keys.js'
import type { KeyUsage } from './key-usage.js'
import type { PrepaidTokens, TopUp } from './prepaid-tokens.js'

export interface KeyAuthentication {
  enter: Database['enter']
  keyUsage: KeyUsage
  tokens: PrepaidTokens
  /** By the hash of a key. */
  tenants: Cache<string>
  quotas: Quotas
}

/** What each connection sent last, as long as it lives: a client sends the same with every request. */
const sentBefore = new WeakMap<object, { readonly authorization: string; readonly keyHash: Buffer }>()

/** The hash of the bearer token, which must have the form of a key. */
export function keyHashOf({ header, incoming }: Pick<HttpRequest, 'header' | 'incoming'>): Buffer {
  const authorization = header('authorization') ?? ''
  const before = sentBefore.get(incoming.socket)
  if (before?.authorization === authorization) return before.keyHash
  const key = bearerToken(authorization)
  if (key === null || !API_KEY_PATTERN.test(key)) throw unauthenticated()
  const keyHash = sha256(key)
  sentBefore.set(incoming.socket, { authorization, keyHash })
  return keyHash
}

/**
 * In the order of the specification, after the token and its form: its hash looked up, not revoked, tenant and user.
 * The same statement takes a token, if the route draws from a bucket; whether it got one is `throttle`'s to judge.
 */
export async function authenticateKey(
  keys: KeyAuthentication,
  key: NamedKey & Pick<KeyUse, 'known'>,
): Promise<KeyHolder> {
  const { keyHash, route } = key
  const topUp = route.throttle === 'stop' ? NO_TOKENS : keys.tokens.topUp(keyHash, route.throttle)
  const holder = await take(keys, key, topUp)
  if (holder === null) throw unauthenticated()
  keys.keyUsage.note(holder.tenantId, holder.keyId)
  if (!holder.verified) throw new ApiError('EMAIL_NOT_VERIFIED')
  requireAccess(key.route, holder.scope.access)
  return holder
}

/** Takes more tokens in advance. If that fails, the requests that follow find none and enter like any other. */
export async function renewTokens(keys: KeyAuthentication, key: NamedKey): Promise<void> {
  await take(keys, key, keys.tokens.renewal(key.keyHash, key.route.throttle)).catch(() => {})
}

/** What a request by key asks for: `access` names the keys that may, and without it each may. */
export type Keyed = Throttled & { readonly access?: readonly KeyAccess[] }

/** What keys are for is written where the route is. */
export function requireAccess({ access }: Keyed, given: KeyAccess): void {
  if (access !== undefined && !access.includes(given)) throw new ApiError('KEY_SCOPE', { detail: MAY[given] })
}

const MAY = {
  all: 'this key may do everything',
  read: 'this key may only read',
  observe: 'this key may only send captures and look up the approved plan',
}

interface NamedKey {
  /** A tenant, or the network of a stranger. */
  readonly sender: string
  readonly keyHash: Buffer
  readonly route: Keyed
}

const NO_TOKENS: TopUp = { wanted: 0, returned: 0, complete: () => {} }

/** Authenticates the key and takes tokens from its tenant's bucket. Null: there is no such key. */
async function take(
  { enter, quotas, tenants }: KeyAuthentication,
  { sender, keyHash, route, known = null }: NamedKey & Pick<KeyUse, 'known'>,
  { wanted, returned, complete }: TopUp,
): Promise<KeyHolder | null> {
  const buckets = bucketsFor(quotas, route)
  const use = { keyHash, buckets, wanted, returned, known }
  const holder = await enter(sender, async (sql) => {
    const tenantId = await tenantOf(tenants, sql, keyHash)
    return tenantId === null ? null : useKey(sql, { tenantId, ...use })
  }).catch((error: unknown) => {
    complete(null)
    throw error
  })
  const { granted, tokens } = holder ?? { granted: null, tokens: null }
  const isPaid = holder !== null && buckets !== null && granted !== null && tokens !== null && granted > 0
  complete(isPaid ? { holder, perMinute: buckets[holder.quota].perMinute, granted, tokens, now: holder.now } : null)
  return holder
}

/** Looked up once: a key never changes its tenant. */
async function tenantOf(tenants: Cache<string>, sql: Sql, keyHash: Buffer): Promise<string | null> {
  const name = keyHash.toString('latin1')
  const known = tenants.get(name)
  if (known !== undefined) return known
  const found = await findTenantOfKey(sql, keyHash)
  if (found !== null) tenants.set(name, found, { size: ENTRY_BYTES + name.length + found.length })
  return found
}

/** Two Authorization headers arrive joined by a comma and are no bearer token. */
function bearerToken(authorization: string): string | null {
  return /^bearer ([^\s,]+)$/i.exec(authorization)?.[1] ?? null
}

/** The bucket of each quota; which of them the key has, the statement finds. Null: a stop draws from none. */
function bucketsFor(quotas: Quotas, route: Throttled): Record<Quota, RateBucket> | null {
  const [free, team, scale] = [quotas.free, quotas.team, quotas.scale].map((quota) => bucketFor(quota, route))
  return free && team && scale ? { free, team, scale } : null
}
