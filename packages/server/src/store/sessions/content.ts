import type { JsonValue } from '@countersign/protocol'
import type { Queryable, Tx } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'
import { deleteSome } from '../delete-some.js'

/** The agent of sessions that name none. */
export const UNNAMED_AGENT = 'default'

export type ContentKind = 'arguments' | 'decisions' | 'response' | 'result' | 'approval' | 'reason'

/** Something that the session's capture level allows to be stored. `ref` is the proposal or pending call it belongs to. */
export interface NewContent {
  readonly kind: ContentKind
  readonly ref: string
  /** The body as JSON. */
  readonly text: string
}

export const newContent = (kind: ContentKind, ref: string, body: JsonValue): NewContent => ({
  kind,
  ref,
  text: JSON.stringify(body),
})

/**
 * Erases all content of a session, also from the captures that were made of it, the names of what its calls hold and what
 * a program gave as the reason of its kill; its ledger stays and still verifies. Captures of it that are yet to be written are dropped. Where
 * nothing is left to erase its rows stay as they are: an archive run meanwhile finds them unchanged. Returns how many
 * items were there.
 */
export async function eraseContent(tx: Tx, tenantId: string, sessionId: string): Promise<number> {
  // Before anything is read: captures are written behind the same row, so that they are seen here, or see the mark.
  await tx`select 1 from tenants where tenant_id = ${tenantId} for no key update`
  const [row] = await tx<{ items: number }[]>`
    with marked as (
      insert into erased_sessions (tenant_id, session_id, seq, erased_at)
      select tenant_id, session_id, (facts::json #>> '{ledger,seq}')::bigint, clock_timestamp() from session_heads
      where tenant_id = ${tenantId} and session_id = ${sessionId}
      on conflict (tenant_id, session_id) do update set seq = excluded.seq, erased_at = excluded.erased_at
    ), erased as (
      update sessions set principal = null
      where tenant_id = ${tenantId} and session_id = ${sessionId} and principal is not null returning 1
    ), unsaid as (
      update handoffs set note = null
      where tenant_id = ${tenantId} and from_session = ${sessionId} and note is not null returning 1
    ), unnamed as (
      update resource_holds set key_text = null
      where tenant_id = ${tenantId} and session_id = ${sessionId} and key_text is not null returning 1
    ), gone as (
      delete from content where tenant_id = ${tenantId} and session_id = ${sessionId} returning 1
    ), restamped as (
      update session_heads set revision = 'erased at ' || statement_timestamp()
      where tenant_id = ${tenantId} and session_id = ${sessionId} and (exists (select from erased)
        or exists (select from unsaid) or exists (select from unnamed) or exists (select from gone))
    ), unexplained as (
      update audit_entries set detail = null
      where tenant_id = ${tenantId} and subject = ${sessionId} and action = 'session_killed' and key_id is not null
    ), uncaptured as (
      delete from captures c using sessions s
      where s.tenant_id = ${tenantId} and s.session_id = ${sessionId} and c.tenant_id = ${tenantId}
        and c.agent = s.agent and c.conversation_id = s.session_id and c.governed
    )
    select count(*)::int as items from gone`
  return row?.items ?? 0
}

/** Removes marks of erasures from more than `days` ago, when no capture of what was erased can still come. */
export function deleteOldErasures(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteSome(sql, 'erased_sessions', sql`erased_at < ${daysAgo(sql, days)}`, limit)
}

/** Removes content that was stored more than `days` ago, some at once. Returns how many items went. */
export function deleteOldContent(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteSome(sql, 'content', sql`created_at < ${daysAgo(sql, days)}`, limit)
}
