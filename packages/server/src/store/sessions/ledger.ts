import type { ChainedEvent } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'

/** An event on its way into the ledger. */
export type NewEvent = Omit<ChainedEvent, 'session_id'>

const COLUMNS = 'tenant_id, session_id, seq, type, at, body, prev_hash, hash'
const RECORD_COLUMNS = ', request_id, proposal_id, outcome, record'

/**
 * The one event of a change, which most have, appended to the ledger of the session in `changed`. Beside a proposal's
 * event lies its record: outside of the chain, and by its request's id only once.
 */
export const appendEvent = (isProposal: boolean): string => `
    insert into session_events (${COLUMNS}${isProposal ? RECORD_COLUMNS : ''})
    select changed.tenant_id, changed.session_id, :seq::bigint, :event_type::text, :event_at::text::timestamptz,
      :event_body::text, :prev_hash::text, :event_hash::text
      ${isProposal ? ', :request_id::text, :proposal_id::text, :outcome::text, :record::text' : ''}
    from changed`

/** The same for the events of the value `events`; a proposal is the first of them. */
export const appendEvents = (isProposal: boolean): string => `
    insert into session_events (${COLUMNS}${isProposal ? RECORD_COLUMNS : ''})
    select changed.tenant_id, changed.session_id, e.seq, e.type, e.at, e.body::text, e.prev_hash, e.hash
      ${isProposal ? `, ${RECORD_OF_FIRST}` : ''}
    from changed, json_to_recordset(:events::text::json)
      as e (seq bigint, type text, at timestamptz, body json, prev_hash text, hash text)`

const RECORD_OF_FIRST = ['request_id', 'proposal_id', 'outcome', 'record']
  .map((name) => `case when e.seq = :first_seq::bigint then :${name}::text end`)
  .join(', ')

export interface LedgerPage {
  tenantId: string
  sessionId: string
  after: number
  /** Inclusive: an export ends at the head that its first statement saw. */
  upTo: number
  limit: number
  /** Of the bodies together; one event comes in any case. */
  maxBytes: number
}

/** The bodies of one page of an export or timeline. Whole ledgers are read page by page, so none is held in memory. */
export const PAGE_BYTES = 256 * 1024

/** Events in order, as many as fit. */
export async function loadEvents(sql: Queryable, page: LedgerPage): Promise<ChainedEvent[]> {
  const rows = await sql<StoredEvent[]>`
    select seq, type, at, body, prev_hash, hash from (
      select *, sum(octet_length(body)) over (order by seq) - octet_length(body) as bytes_before from (
        select seq, type, at, body, prev_hash, hash from session_events
        where tenant_id = ${page.tenantId} and session_id = ${page.sessionId}
          and seq > ${page.after} and seq <= ${page.upTo}
        order by seq limit ${page.limit}
      ) as page
    ) as measured
    where bytes_before < ${page.maxBytes} order by seq`
  return rows.map((row) => eventOf(page.sessionId, row))
}

/** Events by their numbers, in order. */
export async function loadEventsAt(
  sql: Queryable,
  { tenantId, sessionId }: Pick<LedgerPage, 'tenantId' | 'sessionId'>,
  seqs: readonly number[],
): Promise<ChainedEvent[]> {
  if (seqs.length === 0) return []
  const rows = await sql<StoredEvent[]>`
    select seq, type, at, body, prev_hash, hash from session_events
    where tenant_id = ${tenantId} and session_id = ${sessionId} and seq = any (${seqs.map(String)}::text[]::bigint[]) order by seq`
  return rows.map((row) => eventOf(sessionId, row))
}

type StoredEvent = Omit<ChainedEvent, 'session_id' | 'at' | 'body' | 'prev_hash'> & {
  at: Date
  body: string
  prevHash: string
}

const eventOf = (session_id: string, { seq, type, at, body, prevHash, hash }: StoredEvent): ChainedEvent => ({
  session_id,
  seq,
  type,
  at: at.toISOString(),
  body: JSON.parse(body) as ChainedEvent['body'],
  prev_hash: prevHash,
  hash,
})
