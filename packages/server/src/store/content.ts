import type { JsonValue } from '@countersign/protocol'
import type { Queryable } from './database.js'

export type ContentKind = 'arguments' | 'decisions' | 'response' | 'result' | 'approval' | 'reason'

/** Something that the session's capture level allows to be kept. `ref` is the proposal or pending call it belongs to. */
export interface NewContent {
  kind: ContentKind
  ref: string
  body: JsonValue
}

/** The CTE `kept`: the content of the value `content`, kept for the session in `changed`. */
export const KEEP_CONTENT = `kept as (
    insert into content (tenant_id, session_id, kind, ref, body, created_at)
    select changed.tenant_id, changed.session_id, c.kind, c.ref, c.body, :now::timestamptz
    from changed, json_to_recordset(:content::text::json) as c (kind text, ref text, body json)
    on conflict do nothing
  )`

/** Null when it was never kept, or erased. */
export async function findContent(
  sql: Queryable,
  where: { tenantId: string; sessionId: string; kind: ContentKind; ref: string },
): Promise<JsonValue> {
  const [row] = await sql<{ body: JsonValue }[]>`
    select body from content
    where tenant_id = ${where.tenantId} and session_id = ${where.sessionId}
      and kind = ${where.kind} and ref = ${where.ref}`
  return row?.body ?? null
}

/**
 * Erases all content of a session, also from the captures that were made of it and the names of what its calls hold; its
 * ledger stays and still verifies. Returns how many items were there.
 */
export async function eraseContent(sql: Queryable, tenantId: string, sessionId: string): Promise<number> {
  const rows = await sql`
    with erased as (
      update sessions set principal = null, revision = revision + 1
      where tenant_id = ${tenantId} and session_id = ${sessionId} and principal is not null
    ), unsaid as (
      update handoffs set note = null
      where tenant_id = ${tenantId} and from_session = ${sessionId} and note is not null
    ), unnamed as (
      update resource_holds set key_text = null
      where tenant_id = ${tenantId} and session_id = ${sessionId} and key_text is not null
    ), uncaptured as (
      delete from captures c using sessions s
      where s.tenant_id = ${tenantId} and s.session_id = ${sessionId} and c.tenant_id = s.tenant_id
        and c.at >= s.created_at - interval '1 minute' and c.conversation_id = s.session_id and c.governed
    )
    delete from content where tenant_id = ${tenantId} and session_id = ${sessionId} returning 1`
  return rows.length
}

/** Removes content that was kept before a time, some at once. Returns how many items went. */
export async function deleteOldContent(sql: Queryable, before: Date, limit: number): Promise<number> {
  const rows = await sql`
    delete from content where ctid = any (array(
      select ctid from content where created_at < ${before} limit ${limit}
    )) returning 1`
  return rows.length
}
