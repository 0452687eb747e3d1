import type { Queryable } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'
import { deleteSome } from '../delete-some.js'
import type { PreparedRequest, SessionRow } from './session-row.js'

export interface StoredRequest {
  readonly request: PreparedRequest
  /** When a proposal used it; null: unused. */
  readonly consumedAt: Date | null
}

export async function findPreparedRequest(
  sql: Queryable,
  session: SessionRow,
  id: string,
): Promise<StoredRequest | null> {
  const [row] = await sql<StoredRequest[]>`
    select request, consumed_at from prepared_requests
    where tenant_id = ${session.fixed.tenantId} and session_id = ${session.fixed.sessionId} and prepared_request_id = ${id}`
  return row ?? null
}

/** Removes unused requests that expired more than `days` ago. Returns how many went. */
export function deleteOldPreparedRequests(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteSome(sql, 'superseded_requests', sql`expires_at < ${daysAgo(sql, days)}`, limit)
}
