import type { ChainedEvent } from '@countersign/protocol'
import type { Queryable } from './database.js'

/** An event on its way into the ledger. */
export type NewEvent = Omit<ChainedEvent, 'session_id'>

/** The CTE `appended`: the one event of a change, which most have, appended to the ledger of the session in `changed`. */
export const APPEND_EVENT = `appended as (
    insert into session_events (tenant_id, session_id, seq, type, at, body, prev_hash, hash)
    select changed.tenant_id, changed.session_id, :ledger_seq::bigint, :last_event::text, :event_at::timestamptz,
      :event_body::text::json, :prev_hash::text, :ledger_hash::text
    from changed
  )`

/** The same for the events of the value `events`. */
export const APPEND_EVENTS = `appended as (
    insert into session_events (tenant_id, session_id, seq, type, at, body, prev_hash, hash)
    select changed.tenant_id, changed.session_id, e.seq, e.type, e.at, e.body, e.prev_hash, e.hash
    from changed, json_to_recordset(:events::text::json)
      as e (seq bigint, type text, at timestamptz, body json, prev_hash text, hash text)
  )`

export interface LedgerPage {
  tenantId: string
  sessionId: string
  after: number
  /** Inclusive: an export ends at the head that its first statement saw. */
  upTo: number
  limit: number
}

/** Events in order. */
export async function loadEvents(sql: Queryable, page: LedgerPage): Promise<ChainedEvent[]> {
  const rows = await sql<(Omit<ChainedEvent, 'session_id' | 'at'> & { at: Date; prevHash: string })[]>`
    select seq, type, at, body, prev_hash, hash from session_events
    where tenant_id = ${page.tenantId} and session_id = ${page.sessionId} and seq > ${page.after} and seq <= ${page.upTo}
    order by seq limit ${page.limit}`
  return rows.map(({ seq, type, at, body, prevHash, hash }) => ({
    session_id: page.sessionId,
    seq,
    type,
    at: at.toISOString(),
    body,
    prev_hash: prevHash,
    hash,
  }))
}
