import { notExecuted } from '../authority/receipts.js'
import { ReplayConfigError } from '../base/errors.js'
import { type PersonsAnswer, refusedDecision, weighAnswer } from '../session/core/checkpoints.js'
import { enforcementOf } from '../session/core/gate.js'
import type { SessionContext } from '../session/core/session-context.js'
import { allowVerdict, blockVerdict, type CallVerdict } from '../session/core/verdicts.js'

/** Takes a person's answer about a call, and gives the verdict that follows from it. */
export async function answerQuestion(session: SessionContext, id: string, given: PersonsAnswer): Promise<CallVerdict> {
  const { calls, verdicts } = session
  session.assertUsable()
  checkAnswer(given)
  const call = calls.asking().find((one) => one.pendingCallId === id)
  if (call === undefined) {
    throw new ReplayConfigError(
      `no question ${JSON.stringify(id)} waits for an answer: it was answered, or the conversation went on without it`,
      null,
    )
  }
  const { approvals, refused } = weighAnswer(call, given, call.ageMs(), session.approver)
  call.approvals = approvals
  if (refused === null) {
    call.state = 'allowed'
    const verdict = allowVerdict(call)
    verdicts.change(verdict)
    return verdict
  }
  const decision = refusedDecision(call.decision, refused, session.authority().plan)
  const verdict = blockVerdict(decision, call.arguments)
  verdicts.change(verdict)
  session.notes.blocked(enforcementOf([decision], 'reject_all'))
  calls.resolve(call, notExecuted(call, refused.ended))
  await session.deliver()
  return verdict
}

function checkAnswer(given: PersonsAnswer): void {
  const isDecided = given?.decision === 'approve' || given?.decision === 'deny'
  const by: unknown = given?.decided_by
  const why: unknown = given?.reason
  const isExplained = why === undefined || (typeof why === 'string' && why.length <= 1_000)
  if (isDecided && isExplained && typeof by === 'string' && by !== '' && by.length <= 256) return
  throw new ReplayConfigError(
    "session.answer takes { decision: 'approve' or 'deny', decided_by: who decided, in at most 256 characters }, " +
      'and a reason of at most 1,000 characters if there is one',
    null,
  )
}
