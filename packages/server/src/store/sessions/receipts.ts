import type { BlockReason, Outcome, Receipt } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'
import { deleteSome } from '../delete-some.js'
import type { SessionRow } from './session-row.js'

/** A receipt as it is stored. */
export interface NewReceipt {
  pending_call_id: string
  body_hash: string
  outcome: Outcome
  evidence_level: string
  at_level: boolean
  late: boolean
  arguments_changed: boolean
  committed: boolean
  argument_hash: string
  result_hash: string | null
  started_at: string | null
  finished_at: string | null
  error_code: string | null
  approvals: readonly Omit<NonNullable<Receipt['approvals']>[number], 'reason'>[] | null
  recorded_at: string
  /** Why the call was stopped before it ran, where it was. */
  block_reason?: BlockReason
}

export interface NewLateReceipt {
  pending_call_id: string
  number: number
  fence: number
  body_hash: string
  outcome: Outcome
  evidence_level: string
  argument_hash: string
  result_hash: string | null
}

/** What is known of a call that a receipt names. */
export interface KnownCall {
  pendingCallId: string
  /** Null: the call has no receipt yet. */
  receipt: StoredReceipt | null
  /** Hashes of the late evidence stored so far. */
  lateHashes: string[]
}

export type StoredReceipt = Pick<
  NewReceipt,
  'body_hash' | 'outcome' | 'at_level' | 'late' | 'arguments_changed' | 'committed'
>

/** The calls among these ids that the session ever registered: those of its open step, and those that have a receipt. */
export async function findCalls(sql: Queryable, session: SessionRow, ids: readonly string[]): Promise<KnownCall[]> {
  const open = session.head.state.open?.calls.map((call) => call.pending_call_id) ?? []
  return sql<KnownCall[]>`
    select c.pending_call_id, r.record::json as receipt,
      array(
        select l.body_hash from late_receipts l
        where l.tenant_id = ${session.fixed.tenantId} and l.session_id = ${session.fixed.sessionId}
          and l.pending_call_id = c.pending_call_id
      ) as late_hashes
    from unnest(${[...new Set(ids)]}::text[]) as c (pending_call_id)
    left join receipts r on r.tenant_id = ${session.fixed.tenantId} and r.session_id = ${session.fixed.sessionId}
      and r.pending_call_id = c.pending_call_id
    where r.record is not null or c.pending_call_id = any (${open}::text[])`
}

/** Removes late evidence that was recorded more than `days` ago. Returns how much went. */
export function deleteOldLateReceipts(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteSome(sql, 'late_receipts', sql`recorded_at < ${daysAgo(sql, days)}`, limit)
}
