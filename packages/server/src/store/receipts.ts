import type { Outcome, Receipt } from '@countersign/protocol'
import type { Queryable } from './database.js'
import { jsonText } from './fixed-statement.js'
import type { KeyProof } from './key-proof.js'
import { changeOf, changeStatement, type SessionChange } from './session-change.js'
import type { SessionRow } from './sessions.js'

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

export interface ReceiptsWrite {
  readonly change: SessionChange
  readonly receipts: readonly NewReceipt[]
  readonly lateReceipts: readonly NewLateReceipt[]
}

/** Keeps receipts and their event and resolves their calls. False when the session was written since it was read. */
export async function writeReceipts(
  sql: Queryable,
  { change, receipts, lateReceipts }: ReceiptsWrite,
  proof: KeyProof | undefined,
): Promise<boolean> {
  const { values, parts } = changeOf(change, proof)
  const rows = await keepReceipts(lateReceipts.length === 0 ? parts : [...parts, 'late'])(sql, ...values, {
    receipts: jsonText(receipts),
    resolved: receipts.map((receipt) => receipt.pending_call_id),
    late_receipts: jsonText(lateReceipts),
  })
  return rows.length === 1
}

const keepReceipts = changeStatement<'late'>((has) => [
  `received as (
      insert into receipts (
        tenant_id, session_id, pending_call_id, seq, body_hash, outcome, evidence_level, at_level, late,
        arguments_changed, committed, argument_hash, result_hash, started_at, finished_at, error_code, approvals,
        recorded_at
      )
      select changed.tenant_id, changed.session_id, r.pending_call_id, :first_seq::bigint, r.body_hash, r.outcome,
        r.evidence_level, r.at_level, r.late, r.arguments_changed, r.committed, r.argument_hash, r.result_hash,
        r.started_at, r.finished_at, r.error_code, r.approvals, :now::timestamptz
      from changed, json_to_recordset(:receipts::text::json) as r (
        pending_call_id text, body_hash text, outcome text, evidence_level text, at_level boolean, late boolean,
        arguments_changed boolean, committed boolean, argument_hash text, result_hash text, started_at timestamptz,
        finished_at timestamptz, error_code text, approvals json
      )
    )`,
  `resolved as (
      update pending_calls p set state = 'resolved', resolved_at = :now::timestamptz
      where p.tenant_id = :tenant_id::text and p.session_id = :session_id::text
        and p.pending_call_id = any (:resolved::text[]) and exists (select 1 from changed)
    )`,
  ...(has('late') ? [KEEP_LATE_RECEIPTS] : []),
])

const KEEP_LATE_RECEIPTS = `evidenced as (
    insert into late_receipts (
      tenant_id, session_id, pending_call_id, number, seq, fence, body_hash, outcome, evidence_level, argument_hash,
      result_hash, recorded_at
    )
    select changed.tenant_id, changed.session_id, r.pending_call_id, r.number, :first_seq::bigint, r.fence, r.body_hash,
      r.outcome, r.evidence_level, r.argument_hash, r.result_hash, :now::timestamptz
    from changed, json_to_recordset(:late_receipts::text::json) as r (
      pending_call_id text, number int, fence bigint, body_hash text, outcome text, evidence_level text,
      argument_hash text, result_hash text
    )
  )`

/** What is known of a call that a receipt names. */
export interface KnownCall {
  pendingCallId: string
  /** Null: the call has no receipt yet. */
  receipt: StoredReceipt | null
  /** Hashes of the late evidence kept so far. */
  lateHashes: string[]
}

export interface StoredReceipt {
  body_hash: string
  outcome: Outcome
  at_level: boolean
  late: boolean
  arguments_changed: boolean
  committed: boolean
}

/** The calls among these ids that the session ever registered. */
export async function findCalls(sql: Queryable, session: SessionRow, ids: readonly string[]): Promise<KnownCall[]> {
  return sql<KnownCall[]>`
    select p.pending_call_id,
      (select row_to_json(found) from (
        select r.body_hash, r.outcome, r.at_level, r.late, r.arguments_changed, r.committed from receipts r
        where r.tenant_id = p.tenant_id and r.session_id = p.session_id and r.pending_call_id = p.pending_call_id
      ) as found) as receipt,
      array(
        select l.body_hash from late_receipts l
        where l.tenant_id = p.tenant_id and l.session_id = p.session_id and l.pending_call_id = p.pending_call_id
      ) as late_hashes
    from pending_calls p
    where p.tenant_id = ${session.tenantId} and p.session_id = ${session.sessionId}
      and p.pending_call_id = any (${[...ids]}::text[])`
}

/** Removes late evidence that was recorded before a time. Returns how much went. */
export async function deleteOldLateReceipts(sql: Queryable, before: Date, limit: number): Promise<number> {
  const rows = await sql`
    delete from late_receipts where ctid = any (array(
      select ctid from late_receipts where recorded_at < ${before} limit ${limit}
    )) returning 1`
  return rows.length
}
