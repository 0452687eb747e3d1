import { type Outcome, outcomeSchema, type PendingCallView, type Receipt } from '@countersign/protocol'
import { messageOf, type Report } from '../../base/diagnostics.js'
import type { CallInDoubt } from '../../options/replay-options.js'
import type { PreflightRequest } from '../authority.js'
import type { Outbox } from './outbox.js'

export type OnInDoubt = (call: CallInDoubt) => Promise<Outcome> | Outcome

/**
 * Asks the program what became of calls that an earlier holder left behind, once for the same calls. Who does not know
 * says `unknown`.
 */
export function askAboutDoubt(onInDoubt: OnInDoubt | undefined, report: Report) {
  const asked = new WeakMap<readonly PendingCallView[], Promise<Receipt[]>>()
  return (calls: readonly PendingCallView[]): Promise<Receipt[]> => {
    const ask = async (call: PendingCallView) => receiptOf(call, await outcomeOf(call, onInDoubt, report))
    const receipts = asked.get(calls) ?? Promise.all(calls.map(ask))
    asked.set(calls, receipts)
    return receipts
  }
}

interface KnownOutcomes {
  readonly outbox: Outbox
  readonly request: PreflightRequest
  readonly salt: string
}

/** For calls that the server allowed unseen: what ran here instead, what the conversation says, or that they did not run. */
export const receiptsOfUnseen = (
  calls: readonly PendingCallView[],
  { outbox, request, salt }: KnownOutcomes,
): Receipt[] =>
  calls.map((call) => outbox.evidenceFor(call) ?? request.reported?.(call, salt) ?? receiptOf(call, 'not_executed'))

/** For a call that this holder did not run. */
function receiptOf(call: PendingCallView, outcome: Outcome): Receipt {
  const { pending_call_id, argument_hash } = call
  return { pending_call_id, argument_hash, outcome, evidence_level: 'reported' }
}

const NO_OUTCOME = `it must return one of ${outcomeSchema.options.map((word) => `'${word}'`).join(', ')}; the call counts as 'unknown'`

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
      asked: call.checkpoint_required,
    })
    const checked = outcomeSchema.safeParse(given)
    if (checked.success) return checked.data
    report({ type: 'callback_error', callback: 'onInDoubt', detail: NO_OUTCOME })
  } catch (error) {
    report({ type: 'callback_error', callback: 'onInDoubt', detail: messageOf(error) })
  }
  return 'unknown'
}
