import type { AUDIT_ACTIONS } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'
import { deleteSome } from '../delete-some.js'

export interface NewAuditEntry {
  tenantId: string
  action: (typeof AUDIT_ACTIONS)[number]
  at: Date
  userId?: string | null
  actor?: string | null
  /** The key with which a program asked. */
  keyId?: string | null
  ip?: string | null
  subject?: string | null
  detail?: string | null
}

export async function insertAuditEntry(sql: Queryable, entry: NewAuditEntry): Promise<void> {
  await sql`
    insert into audit_entries
      (tenant_id, at, action, user_id, actor, ip, subject, detail, key_id, key_name, key_prefix)
    select t.tenant_id, ${entry.at}, ${entry.action}, ${entry.userId ?? null}, ${entry.actor ?? null},
      ${entry.ip ?? null}, ${entry.subject ?? null}, ${entry.detail ?? null}, k.key_id, k.name, k.prefix
    from tenants t left join api_keys k on k.tenant_id = t.tenant_id and k.key_id = ${entry.keyId ?? null}
    where t.tenant_id = ${entry.tenantId}`
}

/** For a person who is not signed in: the same statement whether or not an account has the address. */
export async function insertAuditEntryByEmail(
  sql: Queryable,
  entry: { emailKey: string; action: NewAuditEntry['action']; at: Date; ip: string },
): Promise<void> {
  await sql`
    insert into audit_entries (tenant_id, at, action, user_id, actor, ip)
    select tenant_id, ${entry.at}, ${entry.action}, user_id, email, ${entry.ip} from users where email_key = ${entry.emailKey}`
}

export interface AuditRow {
  auditId: number
  at: Date
  action: (typeof AUDIT_ACTIONS)[number]
  actor: string | null
  keyId: string | null
  keyName: string | null
  keyPrefix: string | null
  ip: string | null
  subject: string | null
  detail: string | null
}

/** Newest first, below the cursor. */
export function listAuditEntries(
  sql: Queryable,
  page: { tenantId: string; before: number | null; limit: number },
): Promise<AuditRow[]> {
  return sql<AuditRow[]>`
    select audit_id, at, action, actor, key_id, key_name, key_prefix, ip, subject, detail from audit_entries
    where tenant_id = ${page.tenantId} and (${page.before}::bigint is null or audit_id < ${page.before})
    order by audit_id desc limit ${page.limit}`
}

/** Removes entries from before a time, some at once. Returns how many went. */
export function deleteOldAuditEntries(sql: Queryable, before: Date, limit: number): Promise<number> {
  return deleteSome(sql, 'audit_entries', sql`at < ${before}`, limit)
}
