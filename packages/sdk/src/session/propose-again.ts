import { isUnanswered, parseStrictJson, saltedHash } from '@countersign/engine'
import type { JsonObject } from '@countersign/protocol'
import { reportedReceipt } from '../authority/receipts.js'
import { isObject } from '../base/json-object.js'
import { jsonOf } from '../base/written-json.js'
import { invoke, type ToolRun } from '../calls/invoke.js'
import type { ToolInvocation } from '../options/replay-options.js'
import { neutralProvider } from '../providers/neutral.js'
import { whole } from '../turn/read-answer.js'
import { beginTurn } from '../turn/turn.js'
import type { SessionContext } from './core/session-context.js'
import { type AskVerdict, type CallVerdict, type DecidedAnswer, NOT_APPROVED_YET } from './core/verdicts.js'
import { findQuestion, resumeQuestion } from './questions.js'

/** A call about which the program had asked a person, as the framework has kept it. */
export interface AskedCall {
  /** The id that the model gave the call. */
  readonly callId: string
  /** The name of the tool. */
  readonly tool: string
  /** The arguments, or their JSON text. */
  readonly args: unknown
  /**
   * Only looks whether its question still stands. Nothing is proposed then: the verdict `ask` names no question that
   * could be answered.
   */
  readonly onlyLooks?: boolean
}

/** The calls about which a person has not answered yet: another process may propose them once more. */
export function parkAsking({ calls, approver }: SessionContext): void {
  for (const call of calls.asking()) {
    for (const { checkpoint_id } of call.decision.checkpoints) {
      const about = { session_id: approver.sessionId, checkpoint_id, tool_name: call.toolName }
      approver.report({ type: 'checkpoint_resolved', ...about, decision: 'parked' })
    }
    calls.resolve(call, { ...reportedReceipt(call, 'not_executed'), unanswered: true })
  }
}

export async function proposeAgain(session: SessionContext, asked: AskedCall): Promise<CallVerdict | null> {
  const { callId, tool, args } = asked
  await session.ready()
  const given = argumentsIn(args)
  // Where no server decides, this process knows all that there is to know.
  const isKnown = session.api() === null && session.authority().current().state().unanswered === undefined
  if (given === null || (isKnown && session.settings.store === undefined)) return null
  const onDecided = (decided: DecidedAnswer): void => void session.verdicts.take(decided, session.approver)
  const turn = beginTurn(session, PROVIDER, { retries: 0, asksLater: true, onDecided, waitsFor: () => true })
  const prepared = await turn.prepare({ model: 'resume', tools: [tool], messages: [] })
  if (prepared.prepared === null) return null
  const { by } = prepared.prepared
  const hash = saltedHash(session.authority().saltOf(by), given)
  // What was asked, the state says that was loaded for this turn.
  const stands = isUnanswered(session.authority().current().state(), { tool, hash }, Date.now())
  if (!stands || asked.onlyLooks === true) {
    await turn.abandon(prepared, { why: 'failed', response: null })
    return stands ? standing(asked, given) : null
  }
  await turn.judge(prepared, whole({ tool_calls: [{ id: callId, name: tool, arguments: given }] }))
  return session.verdicts.of(callId)
}

const PROVIDER = neutralProvider('countersign')

function standing({ callId, tool }: AskedCall, args: JsonObject): AskVerdict {
  const about = { callId, toolName: tool, arguments: args, decision: null, id: '', questions: [] }
  return { verdict: 'ask', asks: 'program', ...about, url: null, confirms: false, result: NOT_APPROVED_YET }
}

/** Some frameworks keep them as the text that the model wrote. */
function argumentsIn(args: unknown): JsonObject | null {
  const read = typeof args === 'string' ? parseStrictJson(args) : null
  const value = read === null ? jsonOf(args === undefined ? {} : args) : read.ok ? read.value : null
  return isObject(value) ? (value as JsonObject) : null
}

/**
 * Runs a call. One that people are asked about runs as they have answered; one of another process about which the
 * program had asked there, only with an approval: without one, its question stands.
 */
export async function invokeAsked(session: SessionContext, invocation: ToolInvocation): Promise<ToolRun> {
  const { callId, tool, args, approvedBy = null } = invocation
  if (callId === null) return invoke(session, invocation)
  const verdict = session.verdicts.of(callId)
  const isParked = verdict?.verdict === 'ask' && verdict.asks === 'people'
  if (verdict !== null && !isParked) return invoke(session, invocation)
  if (verdict === null && tool === undefined) return invoke(session, invocation)
  const meant = isParked ? { questionId: verdict.id } : { callId, tool: tool ?? '' }
  const question = await findQuestion(session, meant)
  if (question !== null) return resumeQuestion(session, question, invocation)
  if (verdict === null && approvedBy !== null) await proposeAgain(session, { callId, tool: tool ?? '', args })
  return invoke(session, invocation)
}
