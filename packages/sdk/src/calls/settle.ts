import { equalValues } from '@countersign/engine'
import { OUTCOMES, type Outcome } from '@countersign/protocol'
import { notExecuted, settledReceipt } from '../authority/receipts.js'
import { ReplayConfigError } from '../base/errors.js'
import { jsonOf } from '../base/written-json.js'
import type { ToolInvocation, ToolMap } from '../options/replay-options.js'
import { type PersonsAnswer, refusedDecision, weighAnswer } from '../session/core/checkpoints.js'
import { enforcementOf } from '../session/core/gate.js'
import { decider, type SessionContext } from '../session/core/session-context.js'
import { allowVerdict, blockVerdict, type CallVerdict } from '../session/core/verdicts.js'
import { invoke, settle, type ToolRun } from './invoke.js'

/** How a call is run, where not as it was judged, by the executor in the option `tools`. */
export type CallToRun = Partial<Omit<ToolInvocation, 'callId'>>

/** What became of a call that the program ran itself. */
export interface Settlement {
  /** `unknown` where it cannot be told whether the tool did its work. */
  readonly outcome: Outcome
  /** The tool's result, for what contracts read of it. */
  readonly result?: unknown
}

/** Adds executors to those that the session was opened with. */
export function addExecutors({ settings }: SessionContext, added: ToolMap): void {
  const { tools } = settings
  if (tools === null) {
    throw new ReplayConfigError('the session was started without the option tools, so that no tool can be added', null)
  }
  for (const [name, executor] of Object.entries(added)) tools.set(name, executor)
}

/** Runs an allowed call, once; tells why a blocked one does not run. */
export async function executeCall(session: SessionContext, callId: string, given: CallToRun): Promise<ToolRun> {
  const { calls, verdicts, settings } = session
  const verdict = verdicts.of(callId)
  const call = calls.allowed().find((one) => one.callId === callId) ?? verdict
  if (call === null) throw unknownCall(callId)
  const { tool = call.toolName, args = call.arguments, approvedBy = null } = given
  const run = given.run ?? settings.tools?.get(tool)
  if (run === undefined && verdict?.verdict !== 'block') {
    throw new ReplayConfigError(
      `session.run has no executor for ${tool}: pass it in the option tools, or run the tool and call session.settle`,
      null,
    )
  }
  if (verdict?.verdict === 'ask' && approvedBy !== null && verdict.toolName === tool) {
    await answerQuestion(session, verdict.id, { decision: 'approve', decided_by: approvedBy })
  }
  return invoke(session, { ...given, callId, tool, args, run: run ?? neverRun })
}

/** Whether a call of this tool, under this id, may be the one that is made. */
export type IsMeant = (toolName: string, callId: string) => boolean

/** Every face of a session sees its calls: one that a model proposed here may be made there, without its id. */
export function findProposed({ calls, verdicts }: SessionContext, isMeant: IsMeant, args: unknown): CallVerdict | null {
  const given = jsonOf(args === undefined ? {} : args)
  if (given === undefined) return null
  const open = calls.allowed().find((call) => isMeant(call.toolName, call.callId) && equalValues(call.arguments, given))
  return open === undefined ? verdicts.refused(isMeant, given) : allowVerdict(open)
}

function neverRun(): never {
  throw new Error('a blocked call was run')
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

const unknownCall = (callId: string): ReplayConfigError =>
  new ReplayConfigError(
    `no call ${JSON.stringify(callId)} is known: propose the model's answer first, and use the id of a call in it`,
    null,
  )
