import type { ChainedEvent, Decision, JsonValue, LedgerBody, TimelineCall } from '@countersign/protocol'
import type { CapturedReceipt, Turn } from '../store/dashboard/timeline.js'

/** The calls of a proposal: what the ledger says, what the capture level stored, and the receipt where there is one. */
export function timelineCalls(event: ChainedEvent, turn: Turn): TimelineCall[] {
  const { calls } = event.body as unknown as LedgerBody<'proposal'>
  return calls.map((call) => {
    const decision = turn.decisions.find(({ index }) => index === call.index)
    const receipt = turn.receipts.find(({ pendingCallId }) => pendingCallId === call.pending_call_id)
    return {
      index: call.index,
      call_id: call.call_id,
      pending_call_id: call.pending_call_id,
      tool_name: call.tool_name,
      decision: call.decision,
      reasons: decision?.reasons ?? [],
      argument_hash: call.argument_hash,
      arguments: argumentsOf(turn.arguments, call.index),
      checkpoints: checkpointReasons(decision, call.checkpoints),
      commit_requirement: call.commit_requirement,
      receipt: receipt === undefined ? null : receiptView(receipt),
    }
  })
}

/** Null where the capture level stores none, or they were erased. */
function argumentsOf(stored: JsonValue, index: number): JsonValue {
  if (!Array.isArray(stored)) return null
  const item = stored.find(
    (call) => typeof call === 'object' && call !== null && !Array.isArray(call) && call.index === index,
  )
  return typeof item === 'object' && item !== null && !Array.isArray(item) ? (item.arguments ?? null) : null
}

const checkpointReasons = (decision: Decision | undefined, ids: readonly string[]): string[] =>
  decision === undefined || decision.checkpoints.length === 0
    ? [...ids]
    : decision.checkpoints.map(({ reason }) => reason)

const receiptView = (receipt: CapturedReceipt): TimelineCall['receipt'] => ({
  outcome: receipt.outcome,
  evidence_level: receipt.evidenceLevel,
  at_level: receipt.atLevel,
  late: receipt.late,
  argument_hash: receipt.argumentHash,
  result_hash: receipt.resultHash,
  started_at: receipt.startedAt?.toISOString() ?? null,
  finished_at: receipt.finishedAt?.toISOString() ?? null,
  recorded_at: receipt.recordedAt.toISOString(),
  seq: receipt.seq,
  approvals: (receipt.approvals ?? []).map(({ checkpoint_id, decision, decided_by, decided_at }) => ({
    checkpoint_id,
    decision,
    decided_by: decided_by ?? null,
    decided_at: decided_at ?? null,
    reason: receipt.approvalReasons?.find((entry) => entry.checkpoint_id === checkpoint_id)?.reason ?? null,
  })),
})
