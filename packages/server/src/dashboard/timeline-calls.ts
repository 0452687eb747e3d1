import { BLOCK_REASONS, type ChainedEvent, type LedgerBody, type TimelineCall } from '@countersign/protocol'
import { type ContentCheck, storedArguments } from '../ledgers/content-check.js'
import type { StoredReceipt, StoredTurn } from '../store/sessions/stored-turns.js'

/** The events that hold receipts, and for each pending call what is stored beside its own. */
export interface ReceiptEvents {
  readonly stored: ReadonlyMap<string, StoredReceipt>
  readonly events: readonly ChainedEvent[]
}

interface Beside {
  /** Undefined: nothing is stored beside the event. */
  readonly turn: StoredTurn | undefined
  readonly check: ContentCheck | null
  readonly receipts: ReceiptEvents
}

/** The calls of a proposal: what the ledger says, what is stored and fits it, and the receipt where there is one. */
export function timelineCalls({ calls }: LedgerBody<'proposal'>, beside: Beside): TimelineCall[] {
  const { turn, check, receipts } = beside
  const decisions = check?.decisions ? [] : (turn?.fullDecisions ?? turn?.decisions ?? [])
  return calls.map((call) => {
    const decision = decisions.find(({ index }) => index === call.index)
    const areShown = turn !== undefined && !check?.arguments.has(call.index)
    return {
      index: call.index,
      call_id: call.call_id,
      pending_call_id: call.pending_call_id,
      tool_name: call.tool_name,
      decision: call.decision,
      reasons:
        decision?.reasons ??
        call.reasons.map((reason) => ({ reason, remedy: BLOCK_REASONS[reason].meaning, failures: [] })),
      argument_hash: call.argument_hash,
      // Null where the capture level stores none, they were erased, or they were changed.
      arguments: areShown ? (storedArguments(turn.arguments, call.index) ?? null) : null,
      checkpoints:
        decision === undefined || decision.checkpoints.length === 0
          ? [...call.checkpoints]
          : decision.checkpoints.map(({ reason }) => reason),
      commit_requirement: call.commit_requirement,
      receipt: call.pending_call_id === null ? null : receiptView(receipts, call.pending_call_id),
    }
  })
}

function receiptView({ stored: all, events }: ReceiptEvents, pendingCallId: string): TimelineCall['receipt'] {
  const stored = all.get(pendingCallId)
  const event = events.find(({ seq, type }) => seq === stored?.seq && type === 'receipts')
  if (event === undefined || stored === undefined) return null
  const { receipts } = event.body as unknown as LedgerBody<'receipts'>
  const receipt = receipts.find(({ pending_call_id }) => pending_call_id === pendingCallId)
  if (receipt === undefined) return null
  return {
    outcome: receipt.outcome,
    evidence_level: receipt.evidence_level,
    at_level: receipt.at_level,
    late: receipt.late,
    argument_hash: receipt.argument_hash,
    result_hash: receipt.result_hash,
    started_at: receipt.started_at,
    finished_at: receipt.finished_at,
    recorded_at: event.at,
    seq: event.seq,
    approvals: receipt.approvals.map(({ checkpoint_id, decision }) => ({
      ...{ checkpoint_id, decision },
      ...approverOf(stored, checkpoint_id),
    })),
  }
}

/** Who decided, when and why: content without a hash in the ledger. */
function approverOf({ approvals, approvalReasons }: StoredReceipt, id: string) {
  const approval = approvals?.find(({ checkpoint_id }) => checkpoint_id === id)
  return {
    decided_by: approval?.decided_by ?? null,
    decided_at: approval?.decided_at ?? null,
    reason: approvalReasons?.find(({ checkpoint_id }) => checkpoint_id === id)?.reason ?? null,
  }
}
