import type { Quota, Role } from '@countersign/protocol'
import type { Queryable, Tx } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'
import { deleteTokens, enterDirectory, findTenant } from '../directory.js'

export interface NewRefreshToken {
  tenantId: string
  refreshId: string
  userId: string
  /** Of the password that was proven; null where something else was. */
  passwordHash: string | null
  method: string
  ip: string
  browser: string | null
  hash: Buffer
  lifeSeconds: number
}

/**
 * False when the member was disabled, or the password was changed since it was proven: a reset signs everyone out, including a person who is just signing in.
 * The lock makes one of the two wait for the other, so that the reset finds the token or this finds the new password.
 */
export async function insertRefreshToken(tx: Tx, token: NewRefreshToken): Promise<boolean> {
  const rows = await tx`
    insert into refresh_tokens (tenant_id, refresh_id, user_id, token_hash, method, ip, browser, created_at, expires_at)
    select tenant_id, ${token.refreshId}, user_id, ${token.hash}::bytea, ${token.method}, ${token.ip}, ${token.browser},
      statement_timestamp(), statement_timestamp() + make_interval(secs => ${token.lifeSeconds})
    from users
    where tenant_id = ${token.tenantId} and user_id = ${token.userId} and disabled_at is null
      and (${token.passwordHash}::text is null or password_hash = ${token.passwordHash})
    for share
    returning 1`
  return rows.length === 1 && (await enterDirectory(tx, 'sign_in', token.hash, token.tenantId))
}

export interface RefreshOwner {
  tenantId: string
  userId: string
  refreshId: string
}

/** A signed-in person and the tenant they act for. */
export interface SignIn extends RefreshOwner {
  email: string
  role: Role
  /** How they signed in: `password`, `invitation`, or `oidc:` with the provider. */
  method: string
  quota: Quota
}

/** The refresh token itself, or the id that an access token names. */
export type RefreshName = { tokenHash: Buffer } | { tenantId: string; refreshId: string }

/** The tenant, and which sign-in `r` of it. */
async function named(sql: Queryable, by: RefreshName) {
  if ('tenantId' in by) return { tenantId: by.tenantId, isNamed: sql`r.refresh_id = ${by.refreshId}` }
  const tenantId = await findTenant(sql, 'sign_in', by.tokenHash)
  return { tenantId, isNamed: sql`r.token_hash = ${by.tokenHash}` }
}

/** Undefined when unknown, expired or revoked, or of a member who is disabled. */
export async function findSignIn(sql: Queryable, by: RefreshName): Promise<SignIn | undefined> {
  const { tenantId, isNamed } = await named(sql, by)
  const [row] = await sql<SignIn[]>`
    select r.tenant_id, r.user_id, r.refresh_id, r.method, u.email, u.role, t.quota
    from refresh_tokens r
      join users u on u.tenant_id = ${tenantId} and u.user_id = r.user_id
      join tenants t on t.tenant_id = ${tenantId}
    where r.tenant_id = ${tenantId} and ${isNamed} and r.revoked_at is null and r.expires_at > statement_timestamp() and u.disabled_at is null`
  return row
}

/**
 * Holds a sign-in until the transaction ends: ending it waits for what is written here. False when it has ended, or the
 * member has another role, since it was found.
 */
export async function holdSignIn(tx: Queryable, { tenantId, refreshId, role }: SignIn): Promise<boolean> {
  const rows = await tx`
    select 1 from refresh_tokens r join users u on u.tenant_id = ${tenantId} and u.user_id = r.user_id
    where r.tenant_id = ${tenantId} and r.refresh_id = ${refreshId} and r.revoked_at is null
      and r.expires_at > statement_timestamp() and u.role = ${role} and u.disabled_at is null
    for share of r`
  return rows.length === 1
}

/** The owner, or undefined when there was nothing to revoke. */
export async function revokeRefreshToken(
  sql: Queryable,
  by: RefreshName,
): Promise<(RefreshOwner & { email: string }) | undefined> {
  const { tenantId, isNamed } = await named(sql, by)
  const [row] = await sql<(RefreshOwner & { email: string })[]>`
    update refresh_tokens r set revoked_at = statement_timestamp() from users u
    where r.tenant_id = ${tenantId} and ${isNamed} and r.revoked_at is null and u.tenant_id = ${tenantId}
      and u.user_id = r.user_id
    returning r.tenant_id, r.user_id, r.refresh_id, u.email`
  return row
}

/** Ends the sign-ins of a member, all of them or all but one. */
export async function revokeRefreshTokensOf(
  sql: Queryable,
  user: { tenantId: string; userId: string },
  but: string | null = null,
): Promise<void> {
  await sql`
    update refresh_tokens set revoked_at = statement_timestamp()
    where tenant_id = ${user.tenantId} and user_id = ${user.userId} and revoked_at is null
      and (${but}::text is null or refresh_id <> ${but})`
}

export interface SignInRow {
  refreshId: string
  method: string
  createdAt: Date
  expiresAt: Date
  ip: string | null
  browser: string | null
}

/** The live sign-ins of a member, newest first. */
export function listSignIns(sql: Queryable, user: { tenantId: string; userId: string }): Promise<SignInRow[]> {
  return sql<SignInRow[]>`
    select refresh_id, method, created_at, expires_at, ip, browser from refresh_tokens
    where tenant_id = ${user.tenantId} and user_id = ${user.userId} and revoked_at is null
      and expires_at > statement_timestamp()
    order by created_at desc limit 100`
}

/** False when the member has no such live sign-in. */
export async function endSignIn(
  tx: Queryable,
  user: { tenantId: string; userId: string },
  refreshId: string,
): Promise<boolean> {
  const rows = await tx`
    update refresh_tokens set revoked_at = statement_timestamp()
    where tenant_id = ${user.tenantId} and user_id = ${user.userId} and refresh_id = ${refreshId} and revoked_at is null
    returning 1`
  return rows.length === 1
}

/** Removes what ended, by expiry or revocation, more than `days` ago, some at once. Returns how many went. */
export function deleteEndedRefreshTokens(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteTokens(
    sql,
    'sign_in',
    sql`least(expires_at, coalesce(revoked_at, expires_at)) < ${daysAgo(sql, days)}`,
    limit,
  )
}
