import type { AUDIT_ACTIONS } from '@countersign/protocol'
import type { Queryable } from '../postgres/sql.js'
import { daysAgo } from './days-ago.js'
import { deleteSome } from './delete-some.js'
import { findTenantOf } from './directory.js'

export type AuditAction = (typeof AUDIT_ACTIONS)[number]

export interface NewAuditEntry {
  tenantId: string
  action: AuditAction
  userId?: string | null
  actor?: string | null
  signedInBy?: string | null
  /** The key with which a program asked. */
  keyId?: string | null
  ip?: string | null
  subject?: string | null
  detail?: string | null
}

export async function insertAuditEntry(sql: Queryable, entry: NewAuditEntry): Promise<void> {
  await sql`
    insert into audit_entries
      (tenant_id, at, action, user_id, actor, signed_in_by, ip, subject, detail, key_id, key_name, key_prefix)
    select t.tenant_id, statement_timestamp(), ${entry.action}, ${entry.userId ?? null}, ${entry.actor ?? null},
      ${entry.signedInBy ?? null}, ${entry.ip ?? null}, ${entry.subject ?? null}, ${entry.detail ?? null}, k.key_id, k.name, k.prefix
    from tenants t left join api_keys k on k.tenant_id = ${entry.tenantId} and k.key_id = ${entry.keyId ?? ''}
    where t.tenant_id = ${entry.tenantId}`
}

/** For a person who is not signed in: the same statements whether or not an account has the address. */
export async function insertAuditEntryByEmail(
  sql: Queryable,
  entry: { emailKey: string; action: AuditAction; ip: string },
): Promise<void> {
  const tenantId = await findTenantOf(sql, entry.emailKey)
  await sql`
    insert into audit_entries (tenant_id, at, action, user_id, actor, ip)
    select tenant_id, statement_timestamp(), ${entry.action}, user_id, email, ${entry.ip} from users
    where tenant_id = ${tenantId} and email_key = ${entry.emailKey}`
}

export interface AuditRow {
  /** Random, and the second to order them. */
  entryId: string
  at: Date
  action: AuditAction
  actor: string | null
  signedInBy: string | null
  keyId: string | null
  keyName: string | null
  keyPrefix: string | null
  ip: string | null
  subject: string | null
  detail: string | null
}

export interface AuditFilter {
  readonly subject: string | null
  /** A person's address, `operator`, `system`, or the name of a key. */
  readonly who: string | null
  readonly action: AuditAction | null
  readonly from: Date | null
  readonly to: Date | null
}

/** Newest first, below the entry of that id. Null: the tenant has no such entry any more. */
export async function listAuditEntries(
  sql: Queryable,
  page: AuditFilter & { tenantId: string; below: string | null; limit: number },
): Promise<AuditRow[] | null> {
  const { tenantId, subject, who, action, from, to, below, limit } = page
  const end = sql`select at, entry_id from audit_entries where tenant_id = ${tenantId} and entry_id = ${below}`
  if (below !== null && (await end).length === 0) return null
  return sql<AuditRow[]>`
    select entry_id, at, action, actor, signed_in_by, key_id, key_name, key_prefix, ip, subject, detail from audit_entries
    where tenant_id = ${tenantId} ${below === null ? sql`` : sql`and (at, entry_id) < (${end})`}
      ${subject === null ? sql`` : sql`and subject = ${subject}`}
      ${who === null ? sql`` : sql`and (actor = ${who} or key_name = ${who})`}
      ${action === null ? sql`` : sql`and action = ${action}`}
      ${from === null ? sql`` : sql`and at >= ${from}`}
      ${to === null ? sql`` : sql`and at < ${to}`}
    order by at desc, entry_id desc limit ${limit}`
}

/** Removes entries from more than `days` ago, some at once. Returns how many went. */
export function deleteOldAuditEntries(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteSome(sql, 'audit_entries', sql`at < ${daysAgo(sql, days)}`, limit)
}
