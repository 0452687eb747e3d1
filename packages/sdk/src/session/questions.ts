import { expiredText, refusedText, usedText, waitingText, withdrawnText } from '@countersign/engine'
import type { BlockReason, JsonValue, QuestionCause, QuestionState, SessionQuestion } from '@countersign/protocol'
import { blockedDecision } from '../authority/blocked-decision.js'
import type { OpenCall } from '../authority/open-calls.js'
import { type ParkedQuestion, ReplayConfigError, ReplayContractError, ReplayParkedError } from '../base/errors.js'
import { invoke, type ToolRun } from '../calls/invoke.js'
import type { ToolInvocation } from '../options/replay-options.js'
import { neutralProvider } from '../providers/neutral.js'
import { whole } from '../turn/read-answer.js'
import { beginTurn } from '../turn/turn.js'
import { enforcementOf } from './core/gate.js'
import type { SessionContext } from './core/session-context.js'
import type { DecidedAnswer } from './core/verdicts.js'

/** A question to people about a call, with what they have answered so far. */
export interface Question extends ParkedQuestion {
  /** The id that the model gave the call. */
  readonly callId: string
  /** `approved`: `session.resume` may run the call. `used`: it was allowed to run. What else is not `waiting` is over. */
  readonly state: QuestionState
  /** Why it is over without its call; null where it is not. */
  readonly cause: QuestionCause | null
  /** How many people have said yes. */
  readonly have: number
  /** How many have to. */
  readonly needed: number
  /** Until when the approval can be used, as ISO 8601; null before there is one. */
  readonly usableUntil: string | null
  /** A person who can answer was reached. */
  readonly delivered: boolean
  /** What the call is to run with; null before it is decided. */
  readonly arguments: JsonValue
  /** A person has changed the arguments. */
  readonly isEdited: boolean
  /** What the person who decided wrote. */
  readonly note: string | null
}

/** Which questions are wanted, and how long to wait. */
export interface QuestionsWait {
  /** Seconds to wait for a change since the questions were last loaded; none where no question waits.
   * @defaultValue `0`
   */
  readonly wait?: number
}

/** What became of a call that was resumed. */
export type ResumedCall = ToolRun & {
  /** The id that the model gave the call: its result, or the text, answers it. */
  readonly callId: string
  readonly toolName: string
}

export async function loadQuestions(
  session: SessionContext,
  { wait = 0 }: QuestionsWait,
): Promise<readonly Question[]> {
  await session.ready()
  const { questions } = session
  return (wait > 0 ? await questions.whenChanged(wait) : await questions.load()).map(questionOf)
}

export async function withdrawQuestion(session: SessionContext, questionId: string): Promise<Question> {
  await session.ready()
  return questionOf(await session.questions.withdraw(questionId))
}

/** The questions that wait, or whose answer waits to be used. */
export async function parkedQuestions(session: SessionContext): Promise<readonly ParkedQuestion[]> {
  const all = await loadQuestions(session, {})
  return all
    .filter(({ state }) => state === 'waiting' || state === 'approved')
    .map(({ questionId, url, tool, expiresAt }) => ({ questionId, url, tool, expiresAt }))
}

export const questionOf = (given: SessionQuestion): Question => ({
  questionId: given.question_id,
  url: given.url,
  tool: given.tool_name,
  expiresAt: given.expires_at,
  callId: given.call_id,
  state: given.state,
  cause: given.cause,
  have: given.have,
  needed: given.needed,
  usableUntil: given.usable_until,
  delivered: given.delivered,
  arguments: given.arguments,
  isEdited: given.edited_hash !== null,
  note: given.note,
})

/** Which question is meant: by its id, or by the call that it is about. */
export type QuestionMeant = { readonly questionId: string } | { readonly callId: string; readonly tool: string }

/** Null where people were asked nothing of the kind. */
export async function findQuestion(session: SessionContext, meant: QuestionMeant): Promise<SessionQuestion | null> {
  await session.ready()
  if (session.api() === null) return null
  const all = await session.questions.load()
  const found = all.filter((one) =>
    'questionId' in meant
      ? one.question_id === meant.questionId
      : one.call_id === meant.callId && one.tool_name === meant.tool,
  )
  // Providers use ids again: the newest.
  return found.sort((a, b) => Date.parse(b.asked_at) - Date.parse(a.asked_at))[0] ?? null
}

/** Runs the call of a question that people have approved: judged once more, claimed, run once, with its receipt. */
export async function resumeQuestion(
  session: SessionContext,
  question: SessionQuestion,
  given: Omit<ToolInvocation, 'callId'> = {},
): Promise<ResumedCall> {
  const { tool_name: toolName, call_id: callId, question_id, state, arguments: args, asked_arguments } = question
  const named = { callId, toolName }
  const isItsCall = (call: OpenCall): boolean => call.pendingCallId === question.pending_call_id
  // Allowed before, in this process; the service could not say then whether it was free to run.
  const isAllowedHere = state === 'used' && session.calls.allowed().some(isItsCall)
  if (state !== 'approved' && !isAllowedHere) return { ...named, ...notRun(question, session) }
  if (given.run === undefined && session.settings.tools?.has(toolName) !== true) throw noExecutor(toolName)
  if (args === null) throw erased(question_id)
  // The program says by the model's arguments which call it means.
  const meant = { callId, args: asked_arguments ?? args, ...(given.tool === undefined && { tool: toolName }) }
  const own = { ...given, ...meant, exclusive: true }
  if (isAllowedHere) return { ...named, ...(await invoke(session, own)) }
  const onDecided = (decided: DecidedAnswer): void => void session.verdicts.take(decided, session.approver)
  const changed = new Map(asked_arguments === null ? [] : [[callId, asked_arguments]])
  const again = { redeems: new Map([[callId, question_id]]), changed }
  // Calls of other turns come first, and are not this one's to settle.
  const waitsFor = (): boolean => true
  const turn = beginTurn(session, PROVIDER, { retries: 0, asksLater: true, onDecided, again, waitsFor })
  const asked = await turn.prepare({ model: 'resume', tools: [toolName], messages: [] })
  if (asked.said !== null) return { ...named, ...blockedBy(question, asked.said.reason, asked.said.text, session) }
  await turn.judge(asked, whole({ tool_calls: [{ id: callId, name: toolName, arguments: args }] }))
  return { ...named, ...(await invoke(session, own)) }
}

const PROVIDER = neutralProvider('countersign')

/** Why the call of a question does not run, for the model and for the program. */
function notRun(question: SessionQuestion, session: SessionContext): ToolRun {
  const { question_id: id, tool_name: tool, state, note } = question
  switch (state) {
    case 'denied':
      return blockedBy(question, 'checkpoint_denied', refusedText(tool, note), session)
    case 'expired':
      return blockedBy(question, 'checkpoint_timeout', expiredText(tool, id), session)
    case 'used':
      return blockedBy(question, 'checkpoint_denied', usedText(tool, id), session)
    case 'withdrawn':
      return blockedBy(question, 'checkpoint_denied', withdrawnText(tool, id), session)
    default: {
      const text = waitingText(tool, id)
      const decision = { ...decisionOf(question, 'checkpoint_denied', text), reason: null, reasons: [] }
      const { url, expires_at: expiresAt } = question
      const parked = [{ questionId: id, url, tool, expiresAt }]
      return {
        ran: false,
        result: text,
        error: new ReplayParkedError(text, enforcementOf([decision], 'reject_all'), parked),
      }
    }
  }
}

function blockedBy(
  question: SessionQuestion,
  reason: BlockReason,
  text: string,
  { questions }: SessionContext,
): ToolRun {
  const decision = decisionOf(question, reason, text)
  questions.told([decision])
  return { ran: false, result: text, error: new ReplayContractError(text, enforcementOf([decision], 'reject_all')) }
}

function decisionOf(question: SessionQuestion, reason: BlockReason, text: string) {
  const { question_id, call_id, tool_name, state, have, needed, expires_at } = question
  const decision = blockedDecision({ call_id, tool_name }, reason, text)
  return { ...decision, question: { question_id, state, have, needed, expires_at } }
}

const noExecutor = (tool: string): ReplayConfigError =>
  new ReplayConfigError(`session.resume has no executor for ${tool}: pass it in the option tools`, null)

const erased = (id: string): ReplayConfigError =>
  new ReplayConfigError(`the arguments of ${id} are not stored any more, so that its call cannot be resumed`, null)

/** Throws for a question that the session does not have. */
export async function questionById(session: SessionContext, questionId: string): Promise<SessionQuestion> {
  await session.ready()
  // Says why there is none where no server decides.
  if (session.api() === null) await session.questions.load()
  const found = await findQuestion(session, { questionId })
  if (found !== null) return found
  throw new ReplayConfigError(
    `the session has no question ${JSON.stringify(questionId)}: session.questions() lists them`,
    null,
  )
}
