import type { Quota } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'
import { deleteSome } from '../delete-some.js'

export interface NewRefreshToken {
  tenantId: string
  refreshId: string
  userId: string
  /** Of the password that was proven. */
  passwordHash: string
  hash: Buffer
  lifeSeconds: number
}

/**
 * False when the password was changed since it was proven: a reset signs everyone out, including a person who is just signing in.
 * The lock makes one of the two wait for the other, so that the reset finds the token or this finds the new password.
 */
export async function insertRefreshToken(sql: Queryable, token: NewRefreshToken): Promise<boolean> {
  const rows = await sql`
    insert into refresh_tokens (tenant_id, refresh_id, user_id, token_hash, created_at, expires_at)
    select tenant_id, ${token.refreshId}, user_id, ${token.hash}::bytea, statement_timestamp(),
      statement_timestamp() + make_interval(secs => ${token.lifeSeconds})
    from users
    where tenant_id = ${token.tenantId} and user_id = ${token.userId} and password_hash = ${token.passwordHash}
    for share
    returning 1`
  return rows.length === 1
}

export interface RefreshOwner {
  tenantId: string
  userId: string
  refreshId: string
}

/** A signed-in person and the tenant they act for. */
export interface SignIn extends RefreshOwner {
  email: string
  quota: Quota
}

/** The refresh token itself, or the id that an access token names. */
export type RefreshName = { tokenHash: Buffer } | { tenantId: string; refreshId: string }

const named = (sql: Queryable, by: RefreshName) =>
  'tokenHash' in by
    ? sql`r.token_hash = ${by.tokenHash}`
    : sql`r.tenant_id = ${by.tenantId} and r.refresh_id = ${by.refreshId}`

/** Undefined when unknown, expired or revoked. */
export async function findSignIn(sql: Queryable, by: RefreshName): Promise<SignIn | undefined> {
  const [row] = await sql<SignIn[]>`
    select r.tenant_id, r.user_id, r.refresh_id, u.email, t.quota
    from refresh_tokens r
      join users u on u.tenant_id = r.tenant_id and u.user_id = r.user_id
      join tenants t on t.tenant_id = r.tenant_id
    where ${named(sql, by)} and r.revoked_at is null and r.expires_at > statement_timestamp()`
  return row
}

/**
 * Holds a sign-in until the transaction ends: ending it waits for what is written here. False when it has ended
 * since it was found.
 */
export async function holdSignIn(tx: Queryable, { tenantId, refreshId }: RefreshOwner): Promise<boolean> {
  const rows = await tx`
    select 1 from refresh_tokens
    where tenant_id = ${tenantId} and refresh_id = ${refreshId} and revoked_at is null and expires_at > statement_timestamp()
    for share`
  return rows.length === 1
}

/** The owner, or undefined when there was nothing to revoke. */
export async function revokeRefreshToken(
  sql: Queryable,
  by: RefreshName,
): Promise<(RefreshOwner & { email: string }) | undefined> {
  const [row] = await sql<(RefreshOwner & { email: string })[]>`
    update refresh_tokens r set revoked_at = statement_timestamp() from users u
    where ${named(sql, by)} and r.revoked_at is null and u.tenant_id = r.tenant_id and u.user_id = r.user_id
    returning r.tenant_id, r.user_id, r.refresh_id, u.email`
  return row
}

export async function revokeRefreshTokensOf(sql: Queryable, user: { tenantId: string; userId: string }): Promise<void> {
  await sql`
    update refresh_tokens set revoked_at = statement_timestamp()
    where tenant_id = ${user.tenantId} and user_id = ${user.userId} and revoked_at is null`
}

/** Removes what ended, by expiry or revocation, more than `days` ago, some at once. Returns how many went. */
export function deleteEndedRefreshTokens(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteSome(
    sql,
    'refresh_tokens',
    sql`least(expires_at, coalesce(revoked_at, expires_at)) < ${daysAgo(sql, days)}`,
    limit,
  )
}
