import type { Quota, Role } from '@countersign/protocol'
import { sha256 } from '../../base/crypto/secrets.js'
import type { Queryable, Tx } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'
import { enterDirectory, findTenantOf } from '../directory.js'

/** The form by which an address is looked up and limited: one account per mailbox, whatever the letter case. */
export const emailKey = (email: string): string => email.trim().normalize('NFC').toLowerCase()

export interface UserRow {
  tenantId: string
  userId: string
  email: string
  name: string | null
  emailVerifiedAt: Date | null
  role: Role
  groups: string[]
  hasPassword: boolean
  tenantName: string
  quota: Quota
}

export interface NewAccount {
  tenantId: string
  userId: string
  email: string
  name: string | null
  organisation: string
  passwordHash: string
  quota: Quota
}

/** The tenant and its first user. False when the address has an account. */
export async function insertAccount(tx: Tx, account: NewAccount): Promise<boolean> {
  const { tenantId, email } = account
  if (!(await enterDirectory(tx, 'email', sha256(emailKey(email)), tenantId))) return false
  await tx`
    insert into tenants (tenant_id, name, quota) values (${tenantId}, ${account.organisation}, ${account.quota})`
  await tx`
    insert into users (tenant_id, user_id, email, email_key, name, password_hash)
    values (${tenantId}, ${account.userId}, ${email}, ${emailKey(email)}, ${account.name}, ${account.passwordHash})`
  return true
}

export interface Credentials {
  tenantId: string
  userId: string
  /** Null: the member has no password, and signs in at the company's provider only. */
  passwordHash: string | null
}

/** Undefined when no member who may sign in has the address. */
export async function findCredentials(sql: Queryable, key: string): Promise<Credentials | undefined> {
  const tenantId = await findTenantOf(sql, key)
  const [row] = await sql<Credentials[]>`
    select tenant_id, user_id, password_hash from users
    where tenant_id = ${tenantId} and email_key = ${key} and disabled_at is null`
  return row
}

export async function loadUser(sql: Queryable, tenantId: string, userId: string): Promise<UserRow | undefined> {
  const [row] = await sql<UserRow[]>`
    select u.tenant_id, u.user_id, u.email, u.name, u.email_verified_at, u.role, t.name as tenant_name, t.quota,
      u.password_hash is not null as has_password, ${groupsOf(sql, tenantId)} as groups
    from users u join tenants t on t.tenant_id = ${tenantId}
    where u.tenant_id = ${tenantId} and u.user_id = ${userId}`
  return row
}

/** The names of the groups of a user `u`. */
export const groupsOf = (sql: Queryable, tenantId: string) => sql`array(
  select g.name from group_members g where g.tenant_id = ${tenantId} and g.user_id = u.user_id order by g.name
)`

export async function updatePassword(
  tx: Queryable,
  user: { tenantId: string; userId: string },
  passwordHash: string,
): Promise<void> {
  await tx`update users set password_hash = ${passwordHash} where tenant_id = ${user.tenantId} and user_id = ${user.userId}`
}

/** The highest cost of all password hashes, as they say themselves; zero where there is none. */
export async function readHighestCost(sql: Queryable): Promise<number> {
  const [row] = await sql<{ cost: number | null }[]>`
    ${across(sql, 'cost of passwords')} select max(split_part(password_hash, '$', 2)::int) as cost from users where password_hash like 'scrypt$%'`
  return row?.cost ?? 0
}

/** Another hash of the same password. False when the password was changed meanwhile: that one stays. */
export async function rehashPassword(sql: Queryable, proven: Credentials, passwordHash: string): Promise<boolean> {
  const rows = await sql`
    update users set password_hash = ${passwordHash}
    where tenant_id = ${proven.tenantId} and user_id = ${proven.userId} and password_hash = ${proven.passwordHash}
    returning 1`
  return rows.length === 1
}

/** The user's address is verified, and with it the tenant that the user opened. */
export async function markVerified(tx: Tx, { tenantId, userId }: { tenantId: string; userId: string }): Promise<void> {
  await tx`
    update users set email_verified_at = statement_timestamp()
    where tenant_id = ${tenantId} and user_id = ${userId} and email_verified_at is null`
  await tx`update tenants set verified_at = statement_timestamp() where tenant_id = ${tenantId} and verified_at is null`
}
