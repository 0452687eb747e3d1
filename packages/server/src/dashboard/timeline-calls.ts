import { saltedHash } from '@countersign/engine'
import { BLOCK_REASONS, type ChainedEvent, type LedgerBody, type TimelineCall } from '@countersign/protocol'
import type { ContentCheck } from '../ledgers/content-check.js'
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
  readonly salt: string
}

/** The calls of a proposal: what the ledger says, what is stored and fits it, and the receipt where there is one. */
export function timelineCalls({ calls }: LedgerBody<'proposal'>, beside: Beside): TimelineCall[] {
  const { turn, check } = beside
  const decisions = check?.decisions ? [] : (turn?.fullDecisions ?? turn?.decisions ?? [])
  return calls.map((call) => {
    const decision = decisions.find(({ index }) => index === call.index)
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
      arguments: check?.intact.get(call.index) ?? null,
      checkpoints:
        decision === undefined || decision.checkpoints.length === 0
          ? [...call.checkpoints]
          : decision.checkpoints.map(({ reason }) => reason),
      commit_requirement: call.commit_requirement,
      receipt: call.pending_call_id === null ? null : receiptView(beside, call.pending_call_id),
    }
  })
}

/** The receipt of a call in the ledger, its event, and what is stored beside it. */
function findReceipt({ stored: all, events }: ReceiptEvents, pendingCallId: string) {
  const stored = all.get(pendingCallId)
  const event = events.find(({ seq, type }) => seq === stored?.seq && type === 'receipts')
  if (event === undefined || stored === undefined) return null
  const { receipts } = event.body as unknown as LedgerBody<'receipts'>
  const receipt = receipts.find(({ pending_call_id }) => pending_call_id === pendingCallId)
  return receipt === undefined ? null : { receipt, event, stored }
}

function receiptView({ receipts, salt }: Beside, pendingCallId: string): TimelineCall['receipt'] {
  const found = findReceipt(receipts, pendingCallId)
  if (found === null) return null
  const { receipt, event, stored } = found
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
    ...(receipt.block_reason !== undefined && { block_reason: receipt.block_reason }),
    approvals: receipt.approvals.map((approval) => {
      const { checkpoint_id, decision } = approval
      const { decided_by, decided_at, reason } = approverOf(stored, checkpoint_id)
      return {
        checkpoint_id,
        decision,
        decided_by: fits(salt, decided_by, approval.decided_by_hash) ? decided_by : null,
        decided_at,
        reason: fits(salt, reason, approval.reason_hash) ? reason : null,
      }
    }),
  }
}

/** Who decided, when and why, as it is stored beside the ledger. */
function approverOf({ approvals, approvalReasons }: StoredReceipt, id: string) {
  const approval = approvals?.find(({ checkpoint_id }) => checkpoint_id === id)
  return {
    decided_by: approval?.decided_by ?? null,
    decided_at: approval?.decided_at ?? null,
    reason: approvalReasons?.find(({ checkpoint_id }) => checkpoint_id === id)?.reason ?? null,
  }
}

/** What is not stored was erased, or never stored at this level. Older ledgers have no hash. */
const fits = (salt: string, stored: string | null, hash: string | undefined): boolean =>
  stored === null || hash === undefined || saltedHash(salt, stored) === hash

/** For people: the approvals whose stored person or reason contradicts the ledger. */
export function changedApprovals({ calls }: LedgerBody<'proposal'>, { receipts, salt }: Beside): string[] {
  return calls.flatMap(({ index, tool_name, pending_call_id }) => {
    const found = pending_call_id === null ? null : findReceipt(receipts, pending_call_id)
    const changed = found?.receipt.approvals.some((approval) => {
      const { decided_by, reason } = approverOf(found.stored, approval.checkpoint_id)
      return !fits(salt, decided_by, approval.decided_by_hash) || !fits(salt, reason, approval.reason_hash)
    })
    return changed ? [`who approved call ${index} (${tool_name}), or why`] : []
  })
}
