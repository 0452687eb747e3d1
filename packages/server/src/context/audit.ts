import type { Queryable } from '../postgres/sql.js'
import { type AuditAction, insertAuditEntry, insertAuditEntryByEmail, type NewAuditEntry } from '../store/audit.js'
import type { Context, OpenContext } from './context.js'

/** What was done. The actions are the table `AUDIT_ACTIONS` of the protocol. */
export interface Audited {
  readonly action: AuditAction
  readonly subject?: string | null
  readonly detail?: string | null
}

/** Writes down what this caller did, in the transaction in which it is done. */
export const audit = (tx: Queryable, ctx: Context, audited: Audited): Promise<void> =>
  insertAuditEntry(tx, auditEntry(ctx, audited))

/** The same for a person who is not signed in, but proved who they are. */
export const auditPerson = (
  tx: Queryable,
  { request }: OpenContext,
  {
    tenantId,
    userId,
    email,
    method = null,
    ...audited
  }: Audited & { tenantId: string; userId: string; email: string; method?: string | null },
): Promise<void> =>
  insertAuditEntry(tx, { tenantId, userId, actor: email, signedInBy: method, ip: request.clientAddress, ...audited })

/** The same for an address that need not be anybody's: it takes the same statements either way. */
export const auditByEmail = (
  sql: Queryable,
  { request }: OpenContext,
  audited: { readonly emailKey: string; readonly action: AuditAction },
): Promise<void> => insertAuditEntryByEmail(sql, { ...audited, ip: request.clientAddress })

export const auditEntry = ({ request, tenant, signIn }: Context, audited: Audited): NewAuditEntry => ({
  tenantId: tenant.tenantId,
  action: audited.action,
  userId: tenant.userId,
  actor: signIn?.email ?? null,
  signedInBy: signIn?.method ?? null,
  keyId: tenant.keyId,
  ip: request.clientAddress,
  subject: audited.subject ?? null,
  detail: audited.detail ?? null,
})
