import type { Decision, EvidenceLevel, JsonValue, NarrowedTool, Outcome } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'

export interface CapturedReceipt {
  pendingCallId: string
  seq: number
  outcome: Outcome
  evidenceLevel: EvidenceLevel
  atLevel: boolean
  late: boolean
  argumentHash: string
  resultHash: string | null
  startedAt: Date | null
  finishedAt: Date | null
  recordedAt: Date
  approvals:
    | { checkpoint_id: string; decision: 'approve' | 'deny' | 'timeout'; decided_by?: string; decided_at?: string }[]
    | null
  /** Why each checkpoint was decided so; null where the capture level stores none. */
  approvalReasons: { checkpoint_id: string; reason: string }[] | null
}

/** A proposal with the preflight before it and the receipts after it. */
export interface Turn {
  proposalId: string
  preparedAt: Date
  model: string | null
  allowed: string[]
  removed: NarrowedTool[]
  decisions: Decision[]
  /** Null where the capture level stores none. */
  arguments: JsonValue
  receipts: CapturedReceipt[]
}

/** Turns by proposal id. */
export async function loadTurns(
  sql: Queryable,
  { tenantId, sessionId }: { tenantId: string; sessionId: string },
  proposalIds: readonly string[],
): Promise<Map<string, Turn>> {
  if (proposalIds.length === 0) return new Map()
  const turns = await sql<(Omit<Turn, 'receipts'> & { stored: Decision[] | null })[]>`
    select p.proposal_id, (p.request ->> 'preparedAt')::timestamptz as prepared_at,
      coalesce(p.model, p.request ->> 'model') as model, p.request -> 'allowed' as allowed,
      p.request -> 'removed' as removed, p.decisions,
      (select body from content c where c.tenant_id = p.tenant_id and c.session_id = p.session_id and c.kind = 'decisions' and c.ref = p.proposal_id) as stored,
      (select body from content c where c.tenant_id = p.tenant_id and c.session_id = p.session_id and c.kind = 'arguments' and c.ref = p.proposal_id) as arguments
    from proposals p
    where p.tenant_id = ${tenantId} and p.session_id = ${sessionId} and p.proposal_id = any (${[...proposalIds]}::text[])`
  const receipts = await sql<(CapturedReceipt & { proposalId: string })[]>`
    select c.proposal_id, c.pending_call_id, r.seq, k.*,
      (select body from content t where t.tenant_id = c.tenant_id and t.session_id = c.session_id and t.kind = 'approval'
        and t.ref = c.pending_call_id) as approval_reasons
    from pending_calls c join receipts r using (tenant_id, session_id, pending_call_id),
      json_to_record(r.record::json) as k (
        outcome text, evidence_level text, at_level boolean, late boolean, argument_hash text, result_hash text,
        started_at timestamptz, finished_at timestamptz, recorded_at timestamptz, approvals json
      )
    where c.tenant_id = ${tenantId} and c.session_id = ${sessionId} and c.proposal_id = any (${[...proposalIds]}::text[])`
  return new Map(
    turns.map(({ stored, ...turn }) => [
      turn.proposalId,
      {
        ...turn,
        decisions: stored ?? turn.decisions,
        receipts: receipts.filter(({ proposalId }) => proposalId === turn.proposalId),
      },
    ]),
  )
}
