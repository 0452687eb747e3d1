import type { AuditEntry, Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { type AuditRow, listAuditEntries } from '../store/audit.js'

/** Newest first. The cursor is the id of the last entry shown. */
export async function listAudit(
  ctx: UserContext,
  { query }: Input<Routes['listAudit']>,
): Promise<Reply<Routes['listAudit']>> {
  const below = query.cursor ?? null
  if (below !== null && !UUID.test(below)) throw noCursor()
  const rows = await inRead(ctx, (sql) =>
    listAuditEntries(sql, {
      tenantId: ctx.tenant.tenantId,
      below,
      subject: query.subject ?? null,
      who: query.who ?? null,
      action: query.action ?? null,
      from: query.from === undefined ? null : new Date(query.from),
      to: query.to === undefined ? null : new Date(query.to),
      limit: query.limit + 1,
    }),
  )
  if (rows === null) throw noCursor()
  const page = rows.slice(0, query.limit)
  const last = page.at(-1)
  return {
    items: page.map(entryView),
    next: rows.length > query.limit && last !== undefined ? last.entryId : null,
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const noCursor = () =>
  new ApiError('INVALID_REQUEST', {
    detail: 'query.cursor: not a cursor of this list, or its entry is gone by now; read the list from its beginning',
  })

const entryView = ({ entryId, at, signedInBy, keyId, keyName, keyPrefix, ...entry }: AuditRow): AuditEntry => ({
  audit_id: entryId,
  at: at.toISOString(),
  ...entry,
  signed_in_by: signedInBy,
  key: keyId === null ? null : { key_id: keyId, name: keyName ?? '', prefix: keyPrefix ?? '' },
})
