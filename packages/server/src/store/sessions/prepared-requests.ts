import type { Queryable } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'
import { deleteSome } from '../delete-some.js'
import { textOf } from './session-head.js'
import type { PreparedRequest, SessionRow } from './session-row.js'

/** The CTE `superseded`: stores a request that is not the session's newest, because it was superseded or has no tools. */
export const SUPERSEDE = `superseded as (
    insert into superseded_requests (tenant_id, session_id, prepared_request_id, expires_at, request)
    select changed.tenant_id, changed.session_id, :superseded_id::text, :superseded_expires_at::text::timestamptz, :superseded::text
    from changed
  )`

/** The values of `SUPERSEDE`. */
export const superseded = (request: PreparedRequest) => ({
  superseded_id: request.id,
  superseded_expires_at: request.expiresAt,
  superseded: textOf(request),
})

/** The CTE `taken`: the request is not stored apart any more, since its proposal holds it. */
export const TAKE_SUPERSEDED = `taken as (
    delete from superseded_requests r using changed
    where r.tenant_id = changed.tenant_id and r.session_id = changed.session_id
      and r.prepared_request_id = :request_id::text
  )`

/** No proposal used a request of this id. */
export const NOT_USED = `and not exists (
          select 1 from session_events e where e.tenant_id = :tenant_id::text and e.session_id = :session_id::text
            and e.request_id = :prepared_request_id::text
        )`

/** None of this id is stored apart. Checked only where any ever was. */
export const NOT_SUPERSEDED = `and not exists (
          select 1 from superseded_requests r where r.tenant_id = :tenant_id::text and r.session_id = :session_id::text
            and r.prepared_request_id = :prepared_request_id::text
        )`

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
