import { type Outcome, outcomeSchema, type PendingCallView, type Receipt } from '@countersign/protocol'
import { messageOf, type Report } from '../../base/diagnostics.js'
import type { CallInDoubt } from '../../options/replay-options.js'

export type OnInDoubt = (call: CallInDoubt) => Promise<Outcome> | Outcome

/** Asks the program what became of calls that an earlier holder left behind. Who does not know says `unknown`. */
export async function resolveInDoubt(
  calls: readonly PendingCallView[],
  onInDoubt: OnInDoubt | undefined,
  report: Report,
): Promise<Receipt[]> {
  return Promise.all(calls.map(async (call) => receiptInDoubt(call, await outcomeOf(call, onInDoubt, report))))
}

/** For a call that this holder did not run. */
export function receiptInDoubt(call: PendingCallView, outcome: Outcome): Receipt {
  const { pending_call_id, argument_hash } = call
  return { pending_call_id, argument_hash, outcome, evidence_level: 'reported' }
}

async function outcomeOf(call: PendingCallView, onInDoubt: OnInDoubt | undefined, report: Report): Promise<Outcome> {
  if (onInDoubt === undefined) return 'unknown'
  try {
    const given = await onInDoubt({
      callId: call.call_id,
      toolName: call.tool_name,
      arguments: call.arguments ?? null,
      argumentHash: call.argument_hash,
      idempotencyKey: call.idempotency_key,
      proposedAt: call.proposed_at,
    })
    const checked = outcomeSchema.safeParse(given)
    if (checked.success) return checked.data
    report({ type: 'callback_error', callback: 'onInDoubt', detail: 'it did not return an outcome' })
  } catch (error) {
    report({ type: 'callback_error', callback: 'onInDoubt', detail: messageOf(error) })
  }
  return 'unknown'
}
