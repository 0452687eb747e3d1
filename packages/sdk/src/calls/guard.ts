import { checkExecution, saltedHash } from '@countersign/engine'
import type { BlockReason, Decision } from '@countersign/protocol'
import { NotOurs } from '../authority/authority.js'
import { blockedDecision } from '../authority/blocked-decision.js'
import type { OpenCall } from '../authority/open-calls.js'
import { notExecuted } from '../authority/receipts.js'
import { messageOf } from '../base/diagnostics.js'
import { ReplayContractError, ReplayParkedError, ReplayUnavailableError } from '../base/errors.js'
import { enforcementOf } from '../session/core/gate.js'
import type { SessionContext } from '../session/core/session-context.js'
import { NOT_APPROVED_YET } from '../session/core/verdicts.js'
import { type CalledTool, matchCall } from './match-call.js'

/**
 * Everything that may have changed since the decision. A call that must not run is resolved as not executed, and why is
 * returned; null for one that may. Throws when that is unknown.
 */
export async function guard(
  call: OpenCall,
  session: SessionContext,
  isExclusive: boolean,
): Promise<ReplayContractError | null> {
  const refuse = async (
    reason: BlockReason,
    { remedy, advice = remedy }: { readonly remedy: string; readonly advice?: string },
    block?: Partial<Decision>,
  ): Promise<ReplayContractError> => {
    session.calls.resolve(call, notExecuted(call, reason))
    await session.deliver()
    return blocked(session, { ...blockedDecision(call.decision, reason, remedy), ...block }, advice)
  }
  // A kill stops tools everywhere, also where nothing is enforced.
  if (session.stance(call.by) !== 'enforce') return session.killed.aborted ? refuse('killed', WAS_KILLED) : null
  try {
    await session.authority().permit(call, isExclusive)
  } catch (error) {
    if (error instanceof ReplayUnavailableError) {
      session.calls.putBack(call)
      throw error
    }
    const advice = messageOf(error)
    if (error instanceof NotOurs) return notOurs(call, session, advice)
    if (session.killed.aborted) return refuse('killed', { ...WAS_KILLED, advice })
    return refuse('precondition_not_met', { remedy: NOT_OPEN, advice })
  }
  if (session.killed.aborted) return refuse('killed', WAS_KILLED)
  // The server judged the text that it was sent: the tool gets no other reading of it.
  if (call.by === 'server' && saltedHash(session.authority().saltOf('server'), call.arguments) !== call.argumentHash) {
    return refuse('execution_constraint_violated', READ_OTHERWISE)
  }
  const violated = checkExecution(session.authority().plan, call.toolName, call.arguments)
  if (violated === null) return null
  const { reason, remedy, failures, contract_file } = violated
  return refuse(reason, { remedy }, { failures, contract_file: contract_file ?? null, reasons: [violated] })
}

/** Another may run the call, so that nothing is reported of it here. */
function notOurs(call: OpenCall, session: SessionContext, advice: string): ReplayContractError {
  session.calls.drop(call)
  const decision = session.killed.aborted
    ? blockedDecision(call.decision, 'killed', WAS_KILLED.remedy)
    : blockedDecision(call.decision, 'execution_constraint_violated', NOT_OPEN)
  return blocked(session, decision, advice)
}

const GIVEN_UP = {
  remedy: 'The call was given up when a newer turn began before it ran. Call the tool again if it is still needed.',
  advice:
    'the call was given up when a newer turn began before it ran; run the calls of an answer before the next model call',
} as const
const READ_OTHERWISE = {
  remedy: 'The tool did not run: its arguments are not those that were allowed. Call it again.',
  advice: 'the server judged other arguments than this process has read; propose the call again',
} as const
/** What the model is told, and what the program. */
const WAS_KILLED = {
  remedy: 'The session was stopped. Make no more tool calls.',
  advice: 'the session was killed; start a new one to continue',
} as const

/** A kill stops what is not judged, too. */
export const refuseKilled = (
  session: SessionContext,
  call: Pick<Decision, 'tool_name' | 'call_id'>,
): ReplayContractError => blocked(session, blockedDecision(call, 'killed', WAS_KILLED.remedy), WAS_KILLED.advice)

/** The call was blocked, or waits for a person, or is unknown. */
export function notAllowed(session: SessionContext, invocation: CalledTool): ReplayContractError {
  const { call: givenUp } = matchCall(session.calls.givenUp(), invocation)
  if (givenUp !== null) {
    const decision = blockedDecision(givenUp.decision, 'execution_constraint_violated', GIVEN_UP.remedy)
    return blocked(session, decision, GIVEN_UP.advice)
  }
  const verdict = session.verdicts.meant(invocation)
  if (verdict === null || verdict.decision === null || verdict.verdict === 'allow') {
    return noAllowedCall(session, invocation)
  }
  const { decision, toolName } = verdict
  const isParked = verdict.verdict === 'ask' && verdict.asks === 'people'
  const isDecided = isParked || verdict.verdict === 'block'
  const stopped = isDecided ? decision : blockedDecision(decision, 'checkpoint_denied', NOT_APPROVED_YET)
  const said = `${toolName} did not run: ${stopped.remedy ?? ''}`
  const enforcement = enforcementOf([stopped], 'reject_all')
  if (isParked) return new ReplayParkedError(said, enforcement, session.questions.parked([stopped]))
  return new ReplayContractError(said, enforcement)
}

export function argumentsDiffer(
  session: SessionContext,
  { decision }: OpenCall,
  changed: readonly string[],
): ReplayContractError {
  const which = changed.join(', ')
  const remedy = `The tool did not run: its arguments were changed after the call was allowed (${which}). Call it again.`
  const advice = `its arguments are not those that were allowed (changed: ${which}); propose the changed call to have it judged`
  return blocked(session, blockedDecision(decision, 'execution_constraint_violated', remedy), advice)
}

function noAllowedCall(session: SessionContext, { tool, callId }: CalledTool): ReplayContractError {
  const which = callId === null ? 'with these arguments' : `under the id ${JSON.stringify(callId)} with these arguments`
  const advice = `no allowed call of ${tool} ${which} is waiting; run a tool only for a call that create returned, unchanged and once`
  const decision = blockedDecision(
    { tool_name: tool, call_id: callId ?? '' },
    'execution_constraint_violated',
    NOT_OPEN,
  )
  return blocked(session, decision, advice)
}

/** For the model, which cannot change the program. */
const NOT_OPEN = 'The call is not open: it was not allowed, or it has an outcome already.'

/** A tool that did not run is a block like any other: the program hears of it in the same way. The advice is for people. */
function blocked({ notes }: SessionContext, decision: Decision, advice: string): ReplayContractError {
  const enforcement = enforcementOf([decision], 'reject_all')
  notes.blocked(enforcement)
  return new ReplayContractError(`${decision.tool_name} did not run: ${advice}`, enforcement)
}
