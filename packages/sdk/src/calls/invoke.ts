import { randomUUID } from 'node:crypto'
import { checkExecution, saltedHash } from '@countersign/engine'
import type { BlockReason, Decision, Receipt } from '@countersign/protocol'
import { blockedDecision } from '../authority/blocked-decision.js'
import type { OpenCall } from '../authority/open-calls.js'
import { executedReceipt, notExecuted } from '../authority/receipts.js'
import { messageOf } from '../base/diagnostics.js'
import { NotExecutedError, ReplayContractError, ReplayUnavailableError } from '../base/errors.js'
import { startAge } from '../base/start-age.js'
import type { ToolExecutor, ToolInvocation, ToolMap } from '../options/replay-options.js'
import { enforcementOf, explainToModel } from '../session/core/gate.js'
import { decider, type SessionContext } from '../session/core/session-context.js'
import { matchCall } from './match-call.js'
import { type Ran, runTool } from './run-tool.js'

/** A tool that runs only for an allowed call. Pass the arguments of the call, and its id to tell equal calls apart. */
export type WrappedTool<Result = unknown> = (args?: unknown, options?: { callId?: string }) => Promise<Result>

/** The program's wrapped tools by name. A name that comes from the model may be none of them. */
export type WrappedTools<Tools extends ToolMap> = {
  readonly [Name in keyof Tools]: WrappedTool<Awaited<ReturnType<Tools[Name]>>>
} & { readonly [name: string]: WrappedTool | undefined }

/** A decision older than this is confirmed before the tool runs, so that a kill reaches queued calls. */
const TRUSTED_DECISION_MS = 5_000
const CONFIRMATIONS = 3

/** The program's tools, each running only for a call that was allowed, and leaving a receipt. */
export function wrapTools(
  tools: ReadonlyMap<string, ToolExecutor>,
  session: SessionContext,
): Readonly<Record<string, WrappedTool>> {
  const wrapped: Record<string, WrappedTool> = Object.create(null)
  for (const [tool, run] of tools) {
    wrapped[tool] = async (args, { callId = null } = {}) => {
      const done = await invoke(session, { callId, tool, args, run })
      if (done.ran || session.settings.gate === 'answer') return done.result
      throw done.error
    }
  }
  return Object.freeze(wrapped)
}

/** The tool ran and gave this, or why it did not run. What the tool itself throws is thrown on. */
export type ToolRun =
  | { readonly ran: true; readonly result: unknown }
  /** `result` is what the model is told in place of the tool's result. */
  | { readonly ran: false; readonly result: string; readonly error: ReplayContractError }

const refused = (error: ReplayContractError): ToolRun => ({
  ran: false,
  result: explainToModel(error.decision.blocked),
  error,
})

/** Runs a tool for the allowed call that is meant, and for no other. */
export async function invoke(session: SessionContext, invocation: ToolInvocation): Promise<ToolRun> {
  const { calls } = session
  const match = matchCall(calls.allowed(), invocation)
  if (match.call === null) {
    if (session.stance(decider(session)) !== 'enforce')
      return { ran: true, result: await runUnjudged(invocation, session) }
    if (match.meant === null) return refused(notAllowed(session, invocation))
    session.notes.argumentsDiffer(invocation.tool, match.changed, false)
    await settle(match.meant, notExecuted(match.meant, 'execution_constraint_violated'), session)
    return refused(argumentsDiffer(session, match.meant, match.changed))
  }
  const { call, edited } = match
  calls.start(call)
  if (edited.length > 0) session.notes.argumentsDiffer(invocation.tool, edited, true)
  let problem: ReplayContractError | null
  try {
    problem = await guard(call, session, invocation.exclusive === true)
  } catch (error) {
    // Whatever went wrong, nothing ran: a call left running would keep every later turn waiting.
    if (call.state === 'running') calls.resolve(call, notExecuted(call))
    throw error
  }
  if (problem !== null) return refused(problem)
  const execution = await runTool(invocation, call, session)
  const { evidence } = execution
  const receipt =
    evidence.outcome === 'not_executed'
      ? notExecuted(call, reasonIn(execution))
      : executedReceipt(call, evidence, {
          salt: session.authority().saltOf(call.by),
          captureLevel: session.settings.captureLevel,
        })
  // A session that ended meanwhile has reported the call as unknown.
  if (call.state === 'running') await settle(call, receipt, session)
  if ('thrown' in execution) throw execution.thrown
  return { ran: true, result: evidence.result }
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

const reasonIn = ({ thrown }: Ran): BlockReason | null => (thrown instanceof NotExecutedError ? thrown.reason : null)

/**
 * Everything that may have changed since the decision. A call that must not run is resolved as not executed, and why is
 * returned; null for one that may. Throws when that is unknown.
 */
async function guard(
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
  let ageMs = call.ageMs
  if (isExclusive) {
    ageMs = startAge()
    const notOurs = await claim(call, session)
    if (notOurs !== null) return notOurs
  }
  try {
    if (ageMs() > TRUSTED_DECISION_MS) await confirm(call, session)
    session.authority().assertRunning()
  } catch (error) {
    if (error instanceof ReplayUnavailableError) {
      session.calls.putBack(call)
      throw error
    }
    const advice = messageOf(error)
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

/** Asks until an answer is fresh: one that came while this process was stopped says nothing about now. */
async function confirm(call: OpenCall, session: SessionContext): Promise<void> {
  for (let asked = 0; asked < CONFIRMATIONS; asked++) {
    const ageMs = startAge()
    await session.authority().confirm(call)
    if (ageMs() <= TRUSTED_DECISION_MS) return
  }
  throw new ReplayUnavailableError(
    `the server took longer than ${TRUSTED_DECISION_MS / 1_000} s to confirm that the call may still run`,
  )
}

/** Null when the call is this process's to run. Otherwise another may run it, so that nothing is reported of it here. */
async function claim(call: OpenCall, session: SessionContext): Promise<ReplayContractError | null> {
  const { by, pendingCallId, argumentHash } = call
  call.claimId ??= `clm_${randomUUID()}`
  try {
    await session.authority().claim({ by, pendingCallId, argumentHash, claimId: call.claimId })
    return null
  } catch (error) {
    if (error instanceof ReplayUnavailableError) {
      session.calls.putBack(call)
      throw error
    }
    session.calls.drop(call)
    const isKilled = session.killed.aborted
    const decision = isKilled
      ? blockedDecision(call.decision, 'killed', WAS_KILLED.remedy)
      : blockedDecision(call.decision, 'execution_constraint_violated', NOT_OPEN)
    return blocked(session, decision, messageOf(error))
  }
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

function runUnjudged({ tool, run, args, callId }: ToolInvocation, session: SessionContext): unknown {
  if (session.killed.aborted) {
    throw blocked(
      session,
      blockedDecision({ tool_name: tool, call_id: callId ?? '' }, 'killed', WAS_KILLED.remedy),
      WAS_KILLED.advice,
    )
  }
  const id = callId ?? `${tool}:unjudged`
  return run(args, { callId: id, idempotencyKey: id, signal: session.killed })
}

/** The call was blocked, or waits for a person, or is unknown. */
function notAllowed(session: SessionContext, invocation: ToolInvocation): ReplayContractError {
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
  const stopped =
    verdict.verdict === 'block' ? decision : blockedDecision(decision, 'checkpoint_denied', NOT_APPROVED_YET)
  return new ReplayContractError(
    `${toolName} did not run: ${stopped.remedy ?? ''}`,
    enforcementOf([stopped], 'reject_all'),
  )
}

const NOT_APPROVED_YET = 'The call needs the approval of a person, and is not approved yet.'

function argumentsDiffer(
  session: SessionContext,
  { decision }: OpenCall,
  changed: readonly string[],
): ReplayContractError {
  const which = changed.join(', ')
  const remedy = `The tool did not run: its arguments were changed after the call was allowed (${which}). Call it again.`
  const advice = `its arguments are not those that were allowed (changed: ${which}); propose the changed call to have it judged`
  return blocked(session, blockedDecision(decision, 'execution_constraint_violated', remedy), advice)
}

function noAllowedCall(session: SessionContext, { tool, callId }: ToolInvocation): ReplayContractError {
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
