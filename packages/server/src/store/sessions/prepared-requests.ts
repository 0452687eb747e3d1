import type { Queryable } from '../../postgres/sql.js'
import { deleteSome } from '../delete-some.js'
import { textOf } from './session-head.js'
import type { PreparedRequest, SessionRow } from './session-row.js'

/** The CTE `aside`: a request that waits beside the session's newest, or instead of none. */
export const SET_ASIDE = `aside as (
    insert into set_aside_requests (tenant_id, session_id, prepared_request_id, expires_at, request)
    select changed.tenant_id, changed.session_id, :aside_id::text, :aside_expires_at::text::timestamptz, :aside::text
    from changed
  )`

/** The values of `SET_ASIDE`. */
export const setAside = (request: PreparedRequest) => ({
  aside_id: request.id,
  aside_expires_at: request.expiresAt,
  aside: textOf(request),
})

/** The CTE `taken`: the request is not set aside any more, since its proposal keeps it. */
export const TAKE_FROM_ASIDE = `taken as (
    delete from set_aside_requests r using changed
    where r.tenant_id = changed.tenant_id and r.session_id = changed.session_id
      and r.prepared_request_id = :request_id::text
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
    where tenant_id = ${session.tenantId} and session_id = ${session.sessionId} and prepared_request_id = ${id}`
  return row ?? null
}

/** Removes unused requests that expired before a time. Returns how many went. */
export function deleteOldPreparedRequests(sql: Queryable, before: Date, limit: number): Promise<number> {
  return deleteSome(sql, 'set_aside_requests', sql`expires_at < ${before}`, limit)
}
