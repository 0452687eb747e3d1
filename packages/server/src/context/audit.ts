import type { AuditAction, NewAuditEntry } from '../store/audit.js'
import type { Context } from './context.js'

export interface AuditSubject {
  readonly subject?: string | null
  readonly detail?: string | null
  /** Who acts, where that is not the person who is signed in. */
  readonly actor?: string | undefined
}

/** What the audit trail says of an action of this caller. */
export const auditEntry = (
  { app, request, tenant, signIn }: Context,
  action: AuditAction,
  { subject = null, detail = null, actor = signIn?.email }: AuditSubject = {},
): NewAuditEntry => ({
  tenantId: tenant.tenantId,
  at: app.clock(),
  action,
  userId: tenant.userId,
  actor: actor ?? null,
  keyId: tenant.keyId,
  ip: request.clientAddress,
  subject,
  detail,
})
