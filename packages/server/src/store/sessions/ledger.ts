import type { ChainedEvent } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'

/** An event on its way into the ledger. */
export type NewEvent = Omit<ChainedEvent, 'session_id'>

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
