import type { Queryable } from '../../postgres/sql.js'
import { deleteSome } from '../delete-some.js'
import { textOf } from './session-head.js'
import type { PreparedRequest, SessionRow } from './session-row.js'

/** The CTE `superseded`: a request that waits beside the session's newest, or instead of none. */
export const SUPERSEDE = `superseded as (
    insert into set_aside_requests (tenant_id, session_id, prepared_request_id, expires_at, request)
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
    delete from set_aside_requests r using changed
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
          select 1 from set_aside_requests r where r.tenant_id = :tenant_id::text and r.session_id = :session_id::text
            and r.prepared_request_id = :prepared_request_id::text
        )`

/** A prepared request, and when a proposal used it. One that was used before such records were kept has only its time. */
export type StoredRequest =
  | { readonly request: PreparedRequest; readonly consumedAt: null }
  | { readonly request: PreparedRequest | null; readonly consumedAt: Date }

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

/** Removes unused requests that expired before a time. Returns how many went. */
export function deleteOldPreparedRequests(sql: Queryable, before: Date, limit: number): Promise<number> {
  return deleteSome(sql, 'set_aside_requests', sql`expires_at < ${before}`, limit)
}
