import type { Role } from '@countersign/protocol'
import { sha256 } from '../../base/crypto/secrets.js'
import type { Queryable, Tx } from '../../postgres/sql.js'
import { enterDirectory, findTenantOf, leaveDirectory } from '../directory.js'
import { emailKey, groupsOf } from './accounts.js'
import { deleteIdentitiesOf } from './identities.js'

export interface MemberRow {
  userId: string
  email: string
  name: string | null
  role: Role
  groups: string[]
  disabledAt: Date | null
  createdAt: Date
  signedInAt: Date | null
  method: string | null
}

const memberColumns = (sql: Queryable, tenantId: string) => sql`
  u.user_id, u.email, u.name, u.role, ${groupsOf(sql, tenantId)} as groups, u.disabled_at, u.created_at,
  last.created_at as signed_in_at, last.method`

const lastSignIn = (sql: Queryable, tenantId: string) => sql`left join lateral (
    select r.created_at, r.method from refresh_tokens r
    where r.tenant_id = ${tenantId} and r.user_id = u.user_id order by r.created_at desc limit 1
  ) as last on true`

/** By their address. */
export function listMembers(sql: Queryable, tenantId: string): Promise<MemberRow[]> {
  return sql<MemberRow[]>`
    select ${memberColumns(sql, tenantId)} from users u ${lastSignIn(sql, tenantId)}
    where u.tenant_id = ${tenantId} and u.removed_at is null order by u.email_key limit 10000`
}

export async function loadMember(sql: Queryable, tenantId: string, userId: string): Promise<MemberRow | undefined> {
  const [row] = await sql<MemberRow[]>`
    select ${memberColumns(sql, tenantId)} from users u ${lastSignIn(sql, tenantId)}
    where u.tenant_id = ${tenantId} and u.user_id = ${userId} and u.removed_at is null`
  return row
}

export async function isMember(sql: Queryable, tenantId: string, email: string): Promise<boolean> {
  const rows = await sql`select 1 from users where tenant_id = ${tenantId} and email_key = ${emailKey(email)}`
  return rows.length === 1
}

export async function findMember(sql: Queryable, email: string): Promise<Named | undefined> {
  const tenantId = await findTenantOf(sql, emailKey(email))
  const [row] = await sql<Named[]>`
    select tenant_id, user_id from users
    where tenant_id = ${tenantId} and email_key = ${emailKey(email)} and removed_at is null`
  return row
}

export interface NewMember {
  tenantId: string
  userId: string
  email: string
  name: string | null
  /** Null: signs in at the company's provider. */
  passwordHash: string | null
  role: Role
}

/** A member whose address is proven. False when it has an account already. */
export async function insertMember(tx: Tx, member: NewMember): Promise<boolean> {
  const { tenantId, email } = member
  if (!(await enterDirectory(tx, 'email', sha256(emailKey(email)), tenantId))) return false
  await tx`
    insert into users (tenant_id, user_id, email, email_key, name, password_hash, role, email_verified_at)
    values (${tenantId}, ${member.userId}, ${email}, ${emailKey(email)}, ${member.name}, ${member.passwordHash},
      ${member.role}, statement_timestamp())`
  return true
}

interface Named {
  tenantId: string
  userId: string
}

/** A role that is new counts from now on: it answers no question that was put before. */
export async function setRole(tx: Tx, { tenantId, userId }: Named, role: Role): Promise<void> {
  await tx`
    update users set role = ${role}, role_since = statement_timestamp()
    where tenant_id = ${tenantId} and user_id = ${userId} and role <> ${role}`
}

/** Exactly these, from now on. A group that the member stays in keeps its date. */
export async function setGroups(tx: Tx, { tenantId, userId }: Named, groups: readonly string[]): Promise<void> {
  await tx`
    delete from group_members
    where tenant_id = ${tenantId} and user_id = ${userId} and name <> all (${[...groups]}::text[])`
  await tx`
    insert into group_members (tenant_id, name, user_id)
    select ${tenantId}, name, ${userId} from unnest(${[...groups]}::text[]) as given (name)
    on conflict do nothing`
}

export async function setDisabled(tx: Tx, { tenantId, userId }: Named, isDisabled: boolean): Promise<void> {
  const ofMember = tx`tenant_id = ${tenantId} and user_id = ${userId}`
  if (isDisabled)
    await tx`update users set disabled_at = statement_timestamp() where ${ofMember} and disabled_at is null`
  // Back, they answer what is asked from now on, as with a new role.
  else
    await tx`update users set disabled_at = null, role_since = statement_timestamp() where ${ofMember} and disabled_at is not null`
}

export async function setName(tx: Tx, { tenantId, userId }: Named, name: string): Promise<void> {
  await tx`update users set name = ${name} where tenant_id = ${tenantId} and user_id = ${userId}`
}

/** The member can no longer sign in, and the address is free for another account. */
export async function removeMember(tx: Tx, { tenantId, userId }: Named): Promise<void> {
  await setDisabled(tx, { tenantId, userId }, true)
  await tx`delete from group_members where tenant_id = ${tenantId} and user_id = ${userId}`
  await deleteIdentitiesOf(tx, { tenantId, userId })
  await tx`delete from mail_queue where tenant_id = ${tenantId} and user_id = ${userId} and sent_at is null`
  const keys = await tx<{ emailKey: string }[]>`
    select email_key from users where tenant_id = ${tenantId} and user_id = ${userId}`
  await leaveDirectory(
    tx,
    'email',
    keys.map((row) => sha256(row.emailKey)),
  )
  await tx`
    update users set email = 'removed', email_key = 'removed ' || user_id, name = null, password_hash = null,
      removed_at = statement_timestamp()
    where tenant_id = ${tenantId} and user_id = ${userId}`
}

/** Owners who may sign in. The caller holds the tenant's row (`lockTenant`), so that two cannot go at once. */
export async function countOwners(tx: Tx, tenantId: string): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    select count(*) from users where tenant_id = ${tenantId} and role = 'owner' and disabled_at is null`
  return row?.count ?? 0
}
