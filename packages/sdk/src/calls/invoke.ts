import type { BlockReason } from '@countersign/protocol'
import { executedReceipt, notExecuted } from '../authority/receipts.js'
import { NotExecutedError, ReplayConfigError, type ReplayContractError } from '../base/errors.js'
import type { ToolExecutor, ToolInvocation, ToolMap } from '../options/replay-options.js'
import { explainToModel } from '../session/core/gate.js'
import { decider, type SessionContext } from '../session/core/session-context.js'
import { answerQuestion } from './answer-question.js'
import { argumentsDiffer, guard, notAllowed, refuseKilled } from './guard.js'
import { type CalledTool, matchCall } from './match-call.js'
import { type Ran, runTool } from './run-tool.js'
import { settle, unknownCall } from './settle.js'

/** A tool that runs only for an allowed call. Pass the arguments of the call, and its id to tell equal calls apart. */
export type WrappedTool<Result = unknown> = (args?: unknown, options?: { callId?: string }) => Promise<Result>

/** The program's wrapped tools by name. A name that comes from the model may be none of them. */
export type WrappedTools<Tools extends ToolMap> = {
  readonly [Name in keyof Tools]: WrappedTool<Awaited<ReturnType<Tools[Name]>>>
} & { readonly [name: string]: WrappedTool | undefined }

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
  /** `note` is what the model reads beside the result of a call that a person has changed; null for any other. */
  | { readonly ran: true; readonly result: unknown; readonly note: string | null }
  /** `result` is what the model is told in place of the tool's result. */
  | { readonly ran: false; readonly result: string; readonly error: ReplayContractError }

const refused = (error: ReplayContractError): ToolRun => ({
  ran: false,
  result: explainToModel(error.decision.blocked),
  error,
})

/** Runs a tool for the allowed call that is meant, and for no other: of a wrapper, a framework or a host alike. */
export async function invoke(session: SessionContext, given: ToolInvocation): Promise<ToolRun> {
  const { calls } = session
  const invocation = asJudged(session, given)
  const approved = approvedQuestion(session, invocation)
  if (approved !== null) await answerQuestion(session, approved.id, approved.answer)
  // From here to the match nothing waits: the program could change the arguments meanwhile.
  const match = matchCall(calls.allowed(), invocation)
  if (match.call === null) {
    if (session.stance(decider(session)) !== 'enforce')
      return { ran: true, result: await runUnjudged(invocation, session), note: null }
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
  const note = call.proposed === undefined ? null : session.questions.ranEdited(call)
  return { ran: true, result: evidence.result, note }
}

const reasonIn = ({ thrown }: Ran): BlockReason | null => (thrown instanceof NotExecutedError ? thrown.reason : null)

/** What an invocation leaves open is as the call was judged. */
function asJudged(session: SessionContext, given: ToolInvocation): CalledTool {
  const { calls, verdicts, settings } = session
  const { callId } = given
  const verdict = callId === null ? null : verdicts.of(callId)
  const call = calls.allowed().find((one) => one.callId === callId) ?? verdict
  const { tool = call?.toolName, args = call?.arguments } = given
  if (tool === undefined) throw unknownCall(callId)
  const run = given.run ?? settings.tools?.get(tool)
  if (run === undefined && verdict?.verdict !== 'block') {
    throw new ReplayConfigError(
      `session.run has no executor for ${tool}: pass it in the option tools, or run the tool and call session.settle`,
      null,
    )
  }
  return { ...given, tool, args, run: run ?? neverRun }
}

/** The question of the call, and its answer, where somebody else has asked; null where there is none. */
function approvedQuestion({ verdicts }: SessionContext, { callId, tool, approvedBy = null }: CalledTool) {
  const verdict = callId === null || approvedBy === null ? null : verdicts.of(callId)
  if (approvedBy === null || verdict?.verdict !== 'ask' || verdict.toolName !== tool) return null
  return { id: verdict.id, answer: { decision: 'approve' as const, decided_by: approvedBy } }
}

function neverRun(): never {
  throw new Error('a blocked call was run')
}

function runUnjudged({ tool, run, args, callId }: CalledTool, session: SessionContext): unknown {
  if (session.killed.aborted) throw refuseKilled(session, { tool_name: tool, call_id: callId ?? '' })
  const id = callId ?? `${tool}:unjudged`
  return run(args, { callId: id, idempotencyKey: id, signal: session.killed })
}
