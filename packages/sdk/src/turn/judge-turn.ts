import { checkStrictValue, type ReadResponse, readResponse } from '@countersign/engine'
import { type Decision, type Flows, idSchema, LIMITS, type ProposalCapture } from '@countersign/protocol'
import type { DecidedBy, PreparedTurn, ProposalRequest, ProposalVerdict } from '../authority/authority.js'
import { blockedDecision } from '../authority/blocked-decision.js'
import type { OpenCall } from '../authority/open-calls.js'
import { notExecuted } from '../authority/receipts.js'
import { ServiceRefusal } from '../authority/transport.js'
import { deepFreeze } from '../base/deep-freeze.js'
import { ReplayContractError } from '../base/errors.js'
import { startAge } from '../base/start-age.js'
import { writtenJson } from '../base/written-json.js'
import { responseIdOf } from '../clients/conversations.js'
import { messagesOf } from '../observe/capture-item.js'
import type { SessionGate } from '../options/replay-options.js'
import type { Provider } from '../providers/provider.js'
import type { SeenAnswer } from '../session/core/continuations.js'
import { enforcementOf, explain, type GateResult, passGate, proposedAs } from '../session/core/gate.js'
import type { SessionContext } from '../session/core/session-context.js'
import type { Stance } from '../session/core/session-rules.js'
import { type ProposedCalls, registerCalls } from './register-calls.js'
import type { ModelAnswer, TurnRequest } from './turn-hooks.js'

/** `refuse`: the program sees the error, unless the model is asked again. */
export type AnswerResult =
  | Exclude<GateResult, { action: 'refuse' }>
  | { readonly action: 'refuse'; readonly error: ReplayContractError }

/** An answer on its way through a judgement. */
export interface AnswerContext {
  readonly session: SessionContext
  readonly provider: Provider
  readonly asked: TurnRequest
  readonly answer: ModelAnswer
  readonly response: ReadResponse
  readonly flows: Flows | undefined
}

export function readAnswer(
  session: SessionContext,
  provider: Provider,
  asked: TurnRequest,
  answer: ModelAnswer,
): AnswerContext {
  // The calls are handed out in verdicts and callbacks, and run later: nothing may change them in between.
  const response = deepFreeze(readResponse(answer.response))
  const flows = asked.opened?.answered(response, responseIdOf(provider, answer.response))
  asked.trace.add('llm_call', 'pass')
  session.settings.shared?.onAnswer(findableIds(provider, answer, response))
  return { session, provider, asked, answer, response, flows }
}

export const proposedCalls = ({ asked, response }: AnswerContext, ageMs: () => number): ProposedCalls => ({
  calls: response.calls,
  answeredIds: asked.view.answeredCallIds,
  ageMs,
})

export function noteAnswer(
  context: AnswerContext,
  stance: Stance,
  decisions: readonly Decision[],
  by: DecidedBy | null,
): void {
  const { session, provider, answer, response, flows } = context
  const { view, opened } = context.asked
  if (opened === null || flows === undefined) return
  const { request, latencyMs } = answer
  session.captures.take({ provider, view, request, latencyMs, response, opened, flows, stance, decisions, by })
}

/** Why none of an answer's calls can be judged, with what to do. */
interface Fault {
  readonly detail: string
  readonly remedy: string
}

const CUT_SHORT: Fault = {
  detail: 'the stream was cut short',
  remedy: 'The stream ended before the answer was complete. Ask again.',
}

/** A stream that broke off inside its calls, or of which a program could read other calls than those in the response. */
function faultOf({ answer, response }: AnswerContext): Fault | null {
  const { complete, contradiction, oddShape = null } = answer
  if (oddShape !== null) return { detail: oddShape, remedy: `Answer again in the right form: ${oddShape}.` }
  if (contradiction !== null) {
    return { detail: contradiction, remedy: `The stream contradicts itself: ${contradiction}. Ask again.` }
  }
  return complete || response.calls.length === 0 ? null : CUT_SHORT
}

/** Blocks every call of an answer; one that shows none stands for a call without a name. Its cost counts. */
async function rejectAnswer(context: AnswerContext, prepared: PreparedTurn, fault: Fault): Promise<ProposalVerdict> {
  const { session, response } = context
  const { by } = await session.authority().propose(costOnly(prepared, response, session.settings.gate))
  const calls = response.calls.length > 0 ? response.calls : [{ id: '', name: '', index: 0 }]
  const decisions = calls.map(({ id, name, index }) =>
    blockedDecision({ call_id: id, tool_name: name, index }, 'response_format_invalid', fault.remedy, fault.detail),
  )
  return { by, outcome: 'blocked', decisions }
}

/** A proposal of no calls, for what the model has used and the provider has run. */
export function costOnly(
  prepared: PreparedTurn,
  { model, usage, providerRun }: ReadResponse,
  gate: SessionGate,
): ProposalRequest {
  const response = {
    tool_calls: [],
    provider_run: providerRun,
    ...(model !== null && { model }),
    ...(usage !== null && { usage }),
  }
  return { prepared, response, read: readResponse(response), gate: proposedAs(gate), flows: undefined, capture: 'none' }
}

const proposalOf = (context: AnswerContext, prepared: PreparedTurn, gate: SessionGate): ProposalRequest => {
  const { answer, response, flows } = context
  const capture = prepared.by === 'server' ? captureOf(context) : undefined
  const findBy = context.session.settings.shared === null ? undefined : findableIds(context.provider, answer, response)
  return { prepared, response: answer.response, read: response, gate: proposedAs(gate), flows, capture, findBy }
}

/** What a later request of the conversation may name: its calls, and the response that it continues. */
function findableIds(provider: Provider, answer: ModelAnswer, response: ReadResponse): string[] {
  const ids = [...response.calls.map(({ id }) => id), responseIdOf(provider, answer.response) ?? '']
  return [...new Set(ids.filter((id) => idSchema.safeParse(id).success))].slice(0, LIMITS.findableIds)
}

/** The server captures what it decides. It has the response; the messages it must be given. */
function captureOf({ session, answer }: AnswerContext): ProposalCapture | undefined {
  const { captureDisabled, captureLevel } = session.settings
  if (captureDisabled) return 'none'
  if (captureLevel !== 'full') return undefined
  const messages = writtenJson(messagesOf(answer.request))
  return Array.isArray(messages) && checkStrictValue(messages) === null ? { messages } : undefined
}

export function proposeAnswer(
  context: AnswerContext,
  prepared: PreparedTurn,
  gate: SessionGate,
): Promise<ProposalVerdict> {
  const fault = faultOf(context)
  if (fault !== null) return rejectAnswer(context, prepared, fault)
  return context.session.authority().propose(proposalOf(context, prepared, gate))
}

/** The session moved on beside a turn that calls nothing, such as a summary: only its cost is left to count. */
export async function proposeAgain(
  context: AnswerContext,
  stale: PreparedTurn,
  error: unknown,
): Promise<ProposalVerdict> {
  if (context.response.calls.length > 0 || faultOf(context) !== null || !isStale(error)) throw error
  const { session } = context
  const prepared = await session.authority().preflight(stale.request)
  if (prepared.outcome === 'blocked') return { by: prepared.by, outcome: 'no_calls', decisions: [] }
  return await session.authority().propose(proposalOf(context, prepared, session.settings.gate))
}

const isStale = (error: unknown): boolean =>
  error instanceof ReplayContractError &&
  error.cause instanceof ServiceRefusal &&
  error.cause.code === 'PREPARED_REQUEST_STALE'

/** Judges without a consequence: not even a failure of the judgement has one. */
export async function watchAnswer(context: AnswerContext, prepared: PreparedTurn, stance: Stance): Promise<void> {
  const { session, asked } = context
  let watched: readonly Decision[] = []
  try {
    const ageMs = startAge()
    const verdict = await proposeAnswer(context, prepared, 'strip_blocked')
    asked.trace.decided(verdict.decisions)
    const { open, decisions } = await registerCalls(verdict, proposedCalls(context, ageMs), null)
    session.calls.add(open)
    session.notes.watched(stance, prepared.removed, decisions)
    watched = decisions
  } catch (error) {
    session.notes.failed(error)
  }
  noteAnswer(context, stance, watched, prepared.by)
}

export function passThroughGate(context: AnswerContext, decisions: readonly Decision[]): AnswerResult {
  const { session, asked } = context
  const { gate, tools } = session.settings
  const enforcement = enforcementOf(decisions, gate)
  const isReadable = gate === 'answer' && isReadInOneWay(context)
  const result = passGate(gate, decisions, ({ tool_name }) => isReadable && tools?.has(tool_name) === true)
  if (enforcement.blocked.length > 0) {
    session.notes.blocked(enforcement)
    const stopped = result.action === 'refuse' ? context.response.calls.map(({ id }) => id) : idsOf(enforcement.blocked)
    asked.opened?.refused(stopped)
  }
  asked.trace.add('gate', result.action === 'refuse' ? 'block' : 'pass', { reason: result.action })
  if (result.action !== 'refuse') return result
  return { action: 'refuse', error: new ReplayContractError(explain(enforcement.blocked), enforcement) }
}

const idsOf = (decisions: readonly Decision[]): string[] => decisions.map(({ call_id }) => call_id)

/** Whoever reads the answer finds the calls that were judged, each under an id of its own. */
function isReadInOneWay(context: AnswerContext): boolean {
  const { calls, problems } = context.response
  const ids = new Set(calls.map(({ id }) => id))
  return faultOf(context) === null && problems.length === 0 && ids.size === calls.length && !ids.has('')
}

/** From here on wrapped tools may run these calls. */
export function openCalls({ session, asked }: AnswerContext, calls: readonly OpenCall[]): void {
  session.calls.add(calls)
  asked.trace.add('finalize', 'pass')
}

/** These calls do not run, and their outcome is reported. */
export async function giveUp({ calls, deliver }: SessionContext, stopped: readonly OpenCall[]): Promise<void> {
  for (const call of stopped) calls.resolve(call, notExecuted(call))
  if (stopped.length > 0) await deliver()
}

/** What of an answer the program gets, and what the provider stores beyond that. */
export function seenAnswer({ response, complete }: ModelAnswer, result: AnswerResult): SeenAnswer {
  switch (result.action) {
    case 'release':
      return { response, complete, shownIds: null, blocked: [] }
    case 'keep':
      return { response, complete, shownIds: result.callIds, blocked: result.blocked }
    case 'answer':
      return { response, complete, shownIds: NONE, blocked: result.blocked }
    case 'refuse':
      return { response, complete, shownIds: NONE, blocked: result.error.decision.blocked }
  }
}

const NONE: ReadonlySet<string> = new Set()
