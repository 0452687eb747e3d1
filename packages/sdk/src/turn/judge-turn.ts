import { type ReadResponse, readResponse } from '@countersign/engine'
import type { Decision, Flows, Gate } from '@countersign/protocol'
import type { DecidedBy, Judgement, PreparedTurn, ProposalAsk } from '../authority/authority.js'
import { blockedDecision } from '../authority/blocked-decision.js'
import type { OpenCall } from '../authority/open-calls.js'
import { ServiceRefusal } from '../authority/transport.js'
import { ReplayContractError } from '../base/errors.js'
import { isPromised, type KnownOrPromised } from '../base/known-or-promised.js'
import { responseIdOf } from '../clients/conversations.js'
import type { ModelAnswer } from '../clients/turn-hooks.js'
import type { Provider } from '../providers/provider.js'
import { enforcementOf, explain, type GateResult, passGate } from './gate.js'
import { type JudgedCalls, judgeCalls, type MadeCalls } from './judge-calls.js'
import { reportedReceipt } from './receipts.js'
import type { Asked, Stance, TurnSession } from './turn-session.js'

/** `refuse`: the program sees the error, unless the model is asked again. */
export type Judged =
  | Exclude<GateResult, { action: 'refuse' }>
  | { readonly action: 'refuse'; readonly error: ReplayContractError }

/** An answer on its way through a judgement. */
interface Judging {
  readonly session: TurnSession
  readonly provider: Provider
  readonly asked: Asked
  readonly answer: ModelAnswer
  readonly response: ReadResponse
  readonly flows: Flows | undefined
}

/** Has an answer judged, asks the people it must ask, and says what of it the program gets to see. */
export function judgeTurn(
  session: TurnSession,
  provider: Provider,
  asked: Asked,
  answer: ModelAnswer,
): KnownOrPromised<Judged> {
  const { prepared, trace, opened } = asked
  const response = readResponse(answer.response)
  const flows = opened?.answered(response, responseIdOf(provider, answer.response))
  const judging: Judging = { session, provider, asked, answer, response, flows }
  trace.add('llm_call', 'pass')
  if (prepared === null) {
    noteAnswer(judging, 'log', [], null)
    return { action: 'release' }
  }
  session.assertUsable()
  const stance = session.stance(prepared.by)
  if (stance !== 'enforce') return watchTurn(judging, prepared, stance)
  const proposing = proposeTurn(judging, prepared, session.settings.gate)
  return isPromised(proposing) ? proposing.then((judgement) => decide(judging, judgement)) : decide(judging, proposing)
}

function decide(judging: Judging, judgement: Judgement): KnownOrPromised<Judged> {
  const { session, asked } = judging
  asked.trace.decided(judgement.decisions)
  const judged = judgeCalls(judgement, made(judging), session.approver)
  return isPromised(judged)
    ? judged.then((calls) => passThroughGate(judging, judgement.by, calls))
    : passThroughGate(judging, judgement.by, judged)
}

const made = ({ asked, response }: Judging): MadeCalls => ({
  calls: response.calls,
  answeredIds: asked.view.answeredCallIds,
})

function noteAnswer(judging: Judging, stance: Stance, decisions: readonly Decision[], by: DecidedBy | null): void {
  const { session, provider, answer, response, flows } = judging
  const { view, opened } = judging.asked
  if (opened === null || flows === undefined) return
  session.notes.answered({ provider, view, answer, response, opened, flows, stance, decisions, by })
}

/** Why none of an answer's calls can be judged, with what to do. */
interface Fault {
  readonly detail: string
  readonly remedy: string
}

const CUT_SHORT: Fault = {
  detail: 'the stream was cut short',
  remedy: 'The stream ended before the answer was whole. Ask again.',
}

/** A stream that broke off inside its calls, or of which a program could read other calls than those in the response. */
function faultOf({ complete, contradiction }: ModelAnswer, { calls }: ReadResponse): Fault | null {
  if (contradiction !== null) {
    return { detail: contradiction, remedy: `The stream contradicts itself: ${contradiction}. Ask again.` }
  }
  return complete || calls.length === 0 ? null : CUT_SHORT
}

/** Blocks every call of an answer; one that shows none stands for a call without a name. Its cost counts. */
async function rejectAnswer({ session, response }: Judging, prepared: PreparedTurn, fault: Fault): Promise<Judgement> {
  const { by } = await session.authority().propose(costOnly(prepared, response, session.settings.gate))
  const calls = response.calls.length > 0 ? response.calls : [{ id: '', name: '', index: 0 }]
  const decisions = calls.map(({ id, name, index }) =>
    blockedDecision({ call_id: id, tool_name: name, index }, 'response_format_invalid', fault.remedy, fault.detail),
  )
  return { by, outcome: 'blocked', decisions }
}

/** A proposal of nothing, for what the model has used. */
export function costOnly(prepared: PreparedTurn, { model, usage }: ReadResponse, gate: Gate): ProposalAsk {
  const response = { tool_calls: [], ...(model !== null && { model }), ...(usage !== null && { usage }) }
  return { prepared, response, read: readResponse(response), gate, flows: undefined }
}

function proposeTurn(judging: Judging, prepared: PreparedTurn, gate: Gate): KnownOrPromised<Judgement> {
  const { session, answer, response, flows } = judging
  const fault = faultOf(answer, response)
  if (fault !== null) return rejectAnswer(judging, prepared, fault)
  const ask = { prepared, response: answer.response, read: response, gate, flows }
  const judgement = session.authority().propose(ask)
  return isPromised(judgement) ? judgement.catch((error) => proposeAgain(session, ask, error)) : judgement
}

async function proposeAgain(session: TurnSession, ask: ProposalAsk, error: unknown): Promise<Judgement> {
  if (ask.read.calls.length > 0 || !isStale(error)) throw error
  // The session moved on beside a turn that calls nothing, such as a summary: only its cost is left to count.
  const prepared = await session.authority().preflight(ask.prepared.ask)
  if (prepared.outcome === 'blocked') return { by: prepared.by, outcome: 'no_calls', decisions: [] }
  return session.authority().propose({ ...ask, prepared })
}

const isStale = (error: unknown): boolean =>
  error instanceof ReplayContractError &&
  error.cause instanceof ServiceRefusal &&
  error.cause.code === 'PREPARED_REQUEST_STALE'

/** Judges without a consequence: not even a failure of the judgement has one. */
async function watchTurn(judging: Judging, prepared: PreparedTurn, stance: Stance): Promise<Judged> {
  const { session, asked } = judging
  let watched: readonly Decision[] = []
  try {
    const judgement = await proposeTurn(judging, prepared, 'strip_blocked')
    asked.trace.decided(judgement.decisions)
    const { open, decisions } = await judgeCalls(judgement, made(judging), null)
    session.book.open(open)
    session.notes.watched(stance, prepared.removed, decisions)
    watched = decisions
  } catch (error) {
    session.notes.failed(error)
  }
  noteAnswer(judging, stance, watched, prepared.by)
  return { action: 'release' }
}

function passThroughGate(
  judging: Judging,
  by: DecidedBy,
  { decisions, open, stopped }: JudgedCalls,
): KnownOrPromised<Judged> {
  const { session } = judging
  const { trace } = judging.asked
  const { settings, book, notes } = session
  noteAnswer(judging, 'enforce', decisions, by)
  try {
    // People take their time: the session may have been killed meanwhile.
    session.assertUsable()
  } catch (error) {
    return giveUp(session, [...open, ...stopped]).then(() => Promise.reject(error))
  }
  const enforcement = enforcementOf(decisions, settings.gate)
  const result = passGate(settings.gate, decisions)
  if (enforcement.blocked.length > 0) notes.blocked(enforcement)
  trace.add('gate', result.action === 'refuse' ? 'block' : 'pass', { reason: result.action })
  if (result.action === 'refuse') {
    const error = new ReplayContractError(explain(enforcement.blocked), enforcement)
    return giveUp(session, [...open, ...stopped]).then(() => ({ action: 'refuse', error }))
  }
  book.open(open)
  trace.add('finalize', 'pass')
  return stopped.length === 0 ? result : giveUp(session, stopped).then(() => result)
}

async function giveUp({ book, deliver }: TurnSession, calls: readonly OpenCall[]): Promise<void> {
  for (const call of calls) book.resolve(call, reportedReceipt(call, 'not_executed'))
  if (calls.length > 0) await deliver()
}
