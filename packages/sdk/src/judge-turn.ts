import { type ReadResponse, readResponse } from '@countersign/engine'
import type { Decision, Flows, Gate } from '@countersign/protocol'
import type { DecidedBy, Judgement, PreparedTurn, ProposalAsk } from './authority.js'
import { blockedDecision } from './blocked-decision.js'
import type { OpenCall } from './call-book.js'
import { responseIdOf } from './conversations.js'
import { ReplayContractError } from './errors.js'
import { enforcementOf, explain, type GateResult, passGate } from './gate.js'
import { type JudgedCalls, judgeCalls } from './judge-calls.js'
import { isPromised, type KnownOrPromised } from './known-or-promised.js'
import type { Provider } from './providers/provider.js'
import type { ModelAnswer } from './providers/turn-hooks.js'
import { reportedReceipt } from './receipts.js'
import { traceDecisions } from './trace.js'
import { ServiceRefusal } from './transport.js'
import type { Asked, Stance, TurnSession } from './turn-session.js'

/** `refuse`: the program sees the error, unless the model is asked again. */
export type Judged =
  | Exclude<GateResult, { action: 'refuse' }>
  | { readonly action: 'refuse'; readonly error: ReplayContractError }

/** Has an answer judged, asks the people it must ask, and says what of it the program gets to see. */
export async function judgeTurn(
  session: TurnSession,
  provider: Provider,
  asked: Asked,
  answer: ModelAnswer,
): Promise<Judged> {
  const { prepared, trace, view, opened } = asked
  const response = readResponse(answer.response)
  const flows = opened?.answered(response, responseIdOf(provider, answer.response))
  trace.add('llm_call', 'pass')
  const done = (stance: Stance, decisions: readonly Decision[], by: DecidedBy | null): void => {
    if (opened === null || flows === undefined) return
    session.notes.answered({ provider, view, answer, response, opened, flows, stance, decisions, by })
  }
  if (prepared === null) {
    done('log', [], null)
    return { action: 'release' }
  }
  session.assertUsable()
  const stance = session.stance(prepared.by)
  if (stance !== 'enforce') {
    const decisions = await watchTurn(session, asked, prepared, { response, flows, answer, stance })
    done(stance, decisions, prepared.by)
    return { action: 'release' }
  }
  const proposing = isCutShort(answer, response)
    ? rejectCutShort(session, prepared, response)
    : proposeTurn(session, prepared, answer, response, flows)
  const judgement = isPromised(proposing) ? await proposing : proposing
  traceDecisions(trace, judgement.decisions)
  const made = { calls: response.calls, answeredIds: view.answeredCallIds }
  const judging = judgeCalls(judgement, made, session.approver)
  const judged = isPromised(judging) ? await judging : judging
  done(stance, judged.decisions, judgement.by)
  const passing = passThroughGate(session, asked, judged)
  return isPromised(passing) ? await passing : passing
}

const isCutShort = (answer: ModelAnswer, { calls }: ReadResponse): boolean => !answer.complete && calls.length > 0

/** A stream that broke off inside its calls: none of them can be trusted to be whole. Its cost counts. */
async function rejectCutShort(
  session: TurnSession,
  prepared: PreparedTurn,
  response: ReadResponse,
): Promise<Judgement> {
  const { by } = await session.authority().propose(costOnly(prepared, response, session.settings.gate))
  const remedy = 'The stream ended before the answer was whole. Ask again.'
  const decisions = response.calls.map(({ id, name, index }) =>
    blockedDecision(
      { call_id: id, tool_name: name, index },
      'response_format_invalid',
      remedy,
      'the stream was cut short',
    ),
  )
  return { by, outcome: 'blocked', decisions }
}

/** A proposal of nothing, for what the model has used. */
export function costOnly(prepared: PreparedTurn, { model, usage }: ReadResponse, gate: Gate): ProposalAsk {
  const response = { tool_calls: [], ...(model !== null && { model }), ...(usage !== null && { usage }) }
  return { prepared, response, read: readResponse(response), gate, flows: undefined }
}

function proposeTurn(
  session: TurnSession,
  prepared: PreparedTurn,
  answer: ModelAnswer,
  response: ReadResponse,
  flows: Flows | undefined,
): KnownOrPromised<Judgement> {
  const { gate } = session.settings
  const ask = { prepared, response: answer.response, read: response, gate, flows }
  const judging = session.authority().propose(ask)
  return isPromised(judging) ? judging.catch((error) => proposeAgain(session, ask, error)) : judging
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

interface Watched {
  readonly response: ReadResponse
  readonly flows: Flows | undefined
  readonly answer: ModelAnswer
  readonly stance: Stance
}

/** Judges without a consequence: not even a failure of the judgement has one. */
async function watchTurn(
  session: TurnSession,
  { trace, view }: Asked,
  prepared: PreparedTurn,
  { response, flows, answer, stance }: Watched,
): Promise<readonly Decision[]> {
  try {
    const ask = { prepared, response: answer.response, read: response, gate: 'strip_blocked', flows } as const
    const judgement = await session.authority().propose(ask)
    traceDecisions(trace, judgement.decisions)
    const { open, decisions } = await judgeCalls(
      judgement,
      { calls: response.calls, answeredIds: view.answeredCallIds },
      null,
    )
    session.book.open(open)
    session.notes.watched(stance, prepared.removed, decisions)
    return decisions
  } catch (error) {
    session.notes.failed(error)
    return []
  }
}

function passThroughGate(
  session: TurnSession,
  { trace }: Asked,
  { decisions, open, stopped }: JudgedCalls,
): KnownOrPromised<Judged> {
  const { settings, book, notes } = session
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
