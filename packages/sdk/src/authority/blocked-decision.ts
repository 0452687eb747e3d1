import type { BlockReason, Decision } from '@countersign/protocol'

/** A call that was blocked on this side, after or without the authority's decision. */
export function blockedDecision(
  call: Partial<Decision> & Pick<Decision, 'call_id' | 'tool_name'>,
  reason: BlockReason,
  remedy: string,
  detail?: string,
): Decision {
  const block = { reason, remedy, failures: [], ...(detail !== undefined && { detail }) }
  return {
    index: 0,
    pending_call_id: null,
    idempotency_key: null,
    argument_hash: null,
    contract_file: null,
    checkpoint_required: false,
    checkpoints: [],
    output_paths: [],
    commit_requirement: 'reported',
    ...call,
    decision: 'block',
    reason,
    remedy,
    failures: [],
    reasons: [block],
  }
}
