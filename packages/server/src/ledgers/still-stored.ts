import { ApiError } from '../base/api-error.js'
import type { Sql } from '../postgres/sql.js'
import { isStored } from '../store/archives/archived-ledgers.js'

/**
 * For what reads a session in several statements: rows that were missing may have been archived between two of them. That
 * is no broken ledger, and nothing was changed: the session is gone, and the reply says where to.
 */
export async function requireStillStored(
  sql: Sql,
  { tenantId, sessionId }: { readonly tenantId: string; readonly sessionId: string },
): Promise<void> {
  if (!(await isStored(sql, { tenantId, ledger: 'session', id: sessionId }))) throw new ApiError('NOT_FOUND')
}
