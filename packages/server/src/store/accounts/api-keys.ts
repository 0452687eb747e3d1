import type { Environment, KeyAccess, Quota, RateBucket } from '@countersign/protocol'
import { groupBy } from '../../base/group-by.js'
import { within } from '../../postgres/database.js'
import { databaseFunction } from '../../postgres/database-function.js'
import type { Queryable, Sql } from '../../postgres/sql.js'
import { directoryEntry, enterDirectory } from '../directory.js'
import type { SessionRow } from '../sessions/session-row.js'
import { IN_FORCE } from '../sessions/write-functions.js'
import type { Granted } from './buckets.js'

/** What a key may be used for. It never changes. */
export interface KeyScope {
  readonly access: KeyAccess
  /** The only ones that it reaches; null: all. */
  readonly agent: string | null
  readonly environment: Environment | null
}

export interface KeyHolder {
  tenantId: string
  keyId: string
  scope: KeyScope
  /** Null for a key that an operator made. */
  userId: string | null
  quota: Quota
  verified: boolean
  /** How many tokens were taken. Null where none were asked for, and for an unverified tenant. */
  granted: number | null
  tokens: number | null
  /** The database's time. */
  now: Date
  /** The session that is known, with the time; null where it was written since. */
  session: SessionRow | null
}

export interface KeyUse {
  tenantId: string
  keyHash: Buffer
  /** From which bucket to take, by quota. Null: nothing is taken. */
  buckets: Readonly<Record<Quota, RateBucket>> | null
  /** Tokens to take: more than one to have some for the requests that follow. */
  wanted: number
  /** Tokens that were taken earlier and not needed. */
  returned: number
  /** A session of which the same statement says whether it is still as it is known. */
  known?: SessionRow | null
}

/** No request waits longer than this to be authenticated; then it gets 503. */
const KEY_TIMEOUT_MS = 3_000

/** The tenant of a key, whether or not it may be used. It never changes. Null: there is no such key. */
export async function findTenantOfKey(sql: Sql, keyHash: Buffer): Promise<string | null> {
  const [entry] = await within(KEY_TIMEOUT_MS, sql, directoryEntry(sql, 'key', keyHash))
  return entry?.tenantId ?? null
}

/**
 * Authenticates a key and takes a token from its tenant's bucket, in one statement. Null when the key is unknown,
 * revoked or expired. Nothing is taken for an unverified tenant.
 */
export async function useKey(sql: Sql, use: KeyUse): Promise<KeyHolder | null> {
  const { tenantId, keyHash, buckets, wanted, returned, known = null } = use
  // A session of another tenant is not as it is known to any key of this one.
  const own = known?.fixed.tenantId === tenantId ? known : null
  const asked = enter.statement(sql, {
    tenant: tenantId,
    key_hash: keyHash,
    buckets: buckets === null ? null : JSON.stringify(buckets),
    wanted,
    returned,
    session: own?.fixed.sessionId ?? null,
    revision: own?.head.revision ?? null,
  })
  const [row] = await within(KEY_TIMEOUT_MS, sql, asked)
  if (row === undefined || row.result === null) return null
  const { taken, now: time, isCurrent, access, agent, environment, ...rest } = row.result as Entered
  const now = new Date(time)
  return {
    ...rest,
    tenantId,
    scope: { access, agent, environment },
    granted: taken?.granted ?? null,
    tokens: taken?.tokens ?? null,
    now,
    session: own !== null && isCurrent ? { fixed: own.fixed, head: own.head, now } : null,
  }
}

/** What `enter` gives. */
interface Entered extends KeyScope, Pick<KeyHolder, 'keyId' | 'userId' | 'quota' | 'verified'> {
  readonly taken: Granted | null
  readonly now: string
  readonly isCurrent: boolean
}

export const enter = databaseFunction(
  'enter',
  {
    tenant: 'text',
    key_hash: 'bytea',
    buckets: 'json',
    wanted: 'integer',
    returned: 'integer',
    session: 'text',
    revision: 'text',
  },
  'json',
)

/** Moves `last_used_at` of the keys on, never back. */
export async function touchKeys(
  sql: Sql,
  uses: readonly { tenantId: string; keyId: string; at: Date }[],
): Promise<void> {
  for (const [tenantId, used] of groupBy(uses, (use) => use.tenantId)) {
    await sql`
      update api_keys k set last_used_at = greatest(k.last_used_at, used.at)
      from unnest(
        ${used.map((use) => use.keyId)}::text[], ${used.map((use) => use.at.toISOString())}::text[]::timestamptz[]
      ) as used (key_id, at)
      where k.tenant_id = ${tenantId} and k.key_id = used.key_id`
  }
}

export interface NewKeyRow {
  tenantId: string
  keyId: string
  userId: string | null
  name: string
  prefix: string
  keyHash: Buffer
  /** For everything, without an end. */
  scope?: KeyScope
  /** Its sessions act for no person. */
  principal?: 'none' | null
  expiresAt?: Date | null
}

const EVERYTHING: KeyScope = { access: 'all', agent: null, environment: null }

/** Stores a new key. The caller holds the tenant's row (`lockTenant`), so that the count of keys cannot be outrun. */
export async function insertKey(tx: Queryable, key: NewKeyRow): Promise<void> {
  const { access, agent, environment } = key.scope ?? EVERYTHING
  await enterDirectory(tx, 'key', key.keyHash, key.tenantId)
  await tx`
    insert into api_keys
      (tenant_id, key_id, user_id, name, prefix, key_hash, access, agent, environment, principal, expires_at)
    values (${key.tenantId}, ${key.keyId}, ${key.userId}, ${key.name}, ${key.prefix}, ${key.keyHash},
      ${access}, ${agent}, ${environment}, ${key.principal ?? null}, ${key.expiresAt ?? null})`
}

export async function countActiveKeys(tx: Queryable, tenantId: string): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    select count(*) from api_keys k where k.tenant_id = ${tenantId} and ${tx.unsafe(IN_FORCE)}`
  return row?.count ?? 0
}

/** Whether the key is still in force. */
export async function isKeyActive(sql: Queryable, tenantId: string, keyId: string): Promise<boolean> {
  const rows = await sql`
    select 1 from api_keys k where k.tenant_id = ${tenantId} and k.key_id = ${keyId} and ${sql.unsafe(IN_FORCE)}`
  return rows.length === 1
}

/** Whether sessions of the key act for no person. */
export async function actsForNoPerson(sql: Queryable, tenantId: string, keyId: string): Promise<boolean> {
  const rows = await sql`
    select 1 from api_keys where tenant_id = ${tenantId} and key_id = ${keyId} and principal = 'none'`
  return rows.length === 1
}

/** Whether the tenant's key of this name and hash is in force. */
export async function hasActiveKey(
  tx: Queryable,
  { tenantId, name, keyHash }: Pick<NewKeyRow, 'tenantId' | 'name' | 'keyHash'>,
): Promise<boolean> {
  const rows = await tx`
    select 1 from api_keys k
    where k.tenant_id = ${tenantId} and k.name = ${name} and k.key_hash = ${keyHash} and ${tx.unsafe(IN_FORCE)}`
  return rows.length === 1
}

/** False when the tenant has no such active key. */
export async function revokeKey(tx: Queryable, tenantId: string, keyId: string): Promise<boolean> {
  const rows = await tx`
    update api_keys set revoked_at = statement_timestamp()
    where tenant_id = ${tenantId} and key_id = ${keyId} and revoked_at is null
    returning 1`
  return rows.length === 1
}

/** Revokes the tenant's active keys of that name, or all of them when the name is null. */
export async function revokeActiveKeys(tx: Queryable, tenantId: string, name: string | null): Promise<void> {
  await tx`
    update api_keys set revoked_at = statement_timestamp()
    where tenant_id = ${tenantId} and revoked_at is null and (${name}::text is null or name = ${name})`
}

export interface KeyRow extends KeyScope {
  principal: 'none' | null
  keyId: string
  name: string
  prefix: string
  createdAt: Date
  lastUsedAt: Date | null
  expiresAt: Date | null
  revokedAt: Date | null
}

const KEY_COLUMNS =
  'key_id, name, prefix, access, agent, environment, principal, created_at, last_used_at, expires_at, revoked_at'

/** Active keys first, then the newest. */
export async function listKeys(sql: Queryable, tenantId: string): Promise<KeyRow[]> {
  const newest = (condition: string) => sql`
    select ${sql.unsafe(KEY_COLUMNS)} from api_keys where tenant_id = ${tenantId} and ${sql.unsafe(condition)}
    order by created_at desc limit 100`
  return sql<KeyRow[]>`
    (${newest('revoked_at is null')}) union all (${newest('revoked_at is not null')}) limit 100`
}

export async function loadKey(sql: Queryable, tenantId: string, keyId: string): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    select ${sql.unsafe(KEY_COLUMNS)} from api_keys where tenant_id = ${tenantId} and key_id = ${keyId}`
  return row
}
