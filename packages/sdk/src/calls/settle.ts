import { OUTCOMES, type Outcome, type Receipt } from '@countersign/protocol'
import type { OpenCall } from '../authority/open-calls.js'
import { settledReceipt } from '../authority/receipts.js'
import { ReplayConfigError } from '../base/errors.js'
import { decider, type SessionContext } from '../session/core/session-context.js'

/** What became of a call that the program ran itself. */
export interface Settlement {
  /** `unknown` where it cannot be told whether the tool did its work. */
  readonly outcome: Outcome
  /** The tool's result, for what contracts read of it. */
  readonly result?: unknown
}

/** Gives a call its outcome. */
export async function settle(
  call: OpenCall,
  receipt: Receipt,
  { calls, deliver, deliverSoon }: SessionContext,
): Promise<void> {
  calls.resolve(call, receipt)
  // The next turn would wait for this anyway, and now the program sees the state that its tool led to.
  if (calls.complete()) await deliver()
  else deliverSoon()
}

/** Takes the program's account of a call that it ran itself. */
export async function settleCall(session: SessionContext, callId: string, given: Settlement): Promise<void> {
  if (!OUTCOMES.includes(given?.outcome)) {
    throw new ReplayConfigError(`session.settle takes an outcome: one of ${OUTCOMES.join(', ')}`, null)
  }
  const call = session.calls.allowed().find((one) => one.callId === callId)
  if (call === undefined) {
    if (session.verdicts.of(callId) === null) throw unknownCall(callId)
    if (session.stance(decider(session)) !== 'enforce') return
    throw new ReplayConfigError(
      `the call ${JSON.stringify(callId)} cannot be settled: it was not allowed, it waits for a person, or it has an outcome`,
      null,
    )
  }
  const salt = session.authority().saltOf(call.by)
  await settle(call, settledReceipt(call, given.outcome, given.result, salt), session)
}

export const unknownCall = (callId: string | null): ReplayConfigError =>
  new ReplayConfigError(
    `no call ${JSON.stringify(callId)} is known: propose the model's answer first, and use the id of a call in it`,
    null,
  )
