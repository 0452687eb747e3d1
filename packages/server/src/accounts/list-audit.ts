import type { AuditEntry, Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { UserContext } from '../context/context.js'
import { type AuditRow, listAuditEntries } from '../store/audit.js'

/** Newest first. The cursor is the id of the last entry shown. */
export async function listAudit(
  ctx: UserContext,
  { query }: Input<Routes['listAudit']>,
): Promise<Reply<Routes['listAudit']>> {
  const before = query.cursor === undefined ? null : Number(query.cursor)
  if (before !== null && !Number.isSafeInteger(before))
    throw new ApiError('INVALID_REQUEST', { detail: 'query.cursor: not a cursor of this list' })
  const rows = await listAuditEntries(ctx.app.database.sql, {
    tenantId: ctx.tenant.tenantId,
    before,
    limit: query.limit + 1,
  })
  const page = rows.slice(0, query.limit)
  const last = page.at(-1)
  return {
    items: page.map(entryView),
    next: rows.length > query.limit && last !== undefined ? String(last.auditId) : null,
  }
}

const entryView = ({ auditId, at, keyId, keyName, keyPrefix, ...entry }: AuditRow): AuditEntry => ({
  audit_id: String(auditId),
  at: at.toISOString(),
  ...entry,
  key: keyId === null ? null : { key_id: keyId, name: keyName ?? '', prefix: keyPrefix ?? '' },
})
