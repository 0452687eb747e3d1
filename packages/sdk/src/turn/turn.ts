import { readResponse } from '@countersign/engine'
import type { NarrowedTool } from '@countersign/protocol'
import type { ProposalVerdict } from '../authority/authority.js'
import type { JsonObject } from '../base/json-object.js'
import { startAge } from '../base/start-age.js'
import type { Provider, RequestView } from '../providers/provider.js'
import { explainToModel } from '../session/core/gate.js'
import type { SessionContext } from '../session/core/session-context.js'
import type { QueuePlace } from '../session/core/turn-queue.js'
import type { DecidedAnswer } from '../session/core/verdicts.js'
import { checkConstraints } from './check-constraints.js'
import { requestAgain } from './judge-answer.js'
import {
  type AnswerContext,
  type AnswerResult,
  costOnly,
  giveUp,
  noteAnswer,
  openCalls,
  passThroughGate,
  proposeAgain,
  proposeAnswer,
  proposedCalls,
  readAnswer,
  seenAnswer,
  watchAnswer,
} from './judge-turn.js'
import {
  narrowRequest,
  openRequest,
  preflightOf,
  refuseNested,
  refuseUngovernable,
  resolveEarlierCalls,
  waitsForOthers,
} from './prepare-turn.js'
import { type RegisteredCalls, registerCalls } from './register-calls.js'
import type { AbandonedAnswer, ModelAnswer, Prepared, TurnHooks, TurnRequest, TurnResult } from './turn-hooks.js'

/** A turn that came beside another lets the program run the calls of that one first. */
const GRACE_MS = 2_000

/** A turn under the rules of its session: preflight, narrowed request, proposal, checkpoints, gate. */
interface Turn {
  readonly session: SessionContext
  readonly provider: Provider
  /** In the queue of the session's turns; null where this one has not entered, or has left. */
  place: QueuePlace | null
  /** Null until the first request is prepared. */
  asked: TurnRequest | null
  retriesLeft: number
  readonly options: TurnOptions
}

export interface TurnOptions {
  /** How often the model may be asked again after a block. */
  readonly retries: number
  /** Questions to people are left open for the program to answer. */
  readonly asksLater?: boolean
  /** Called with each answer of the model that was judged. */
  readonly onDecided?: ((answer: DecidedAnswer) => void) | undefined
  /** Calls that this turn may not settle: of another face of the session, in this process or another. */
  readonly waitsFor?: ((callId: string) => boolean) | undefined
}

export interface GovernedTurn extends TurnHooks {
  /** The tools that were taken out of the request. */
  removed(): readonly NarrowedTool[]
}

export function createTurn(session: SessionContext, provider: Provider, options: TurnOptions): GovernedTurn {
  const turn: Turn = { session, provider, place: null, asked: null, retriesLeft: options.retries, options }
  return {
    prepare: (request) => prepare(turn, request),
    judge: (answer) => judge(turn, answer),
    abandon: (answer) => abandon(turn, answer),
    removed: () => (onlyWatches(turn) ? [] : (turn.asked?.prepared?.removed ?? [])),
    mayRetry: () => options.retries > 0 && !onlyWatches(turn),
    onlyWatches: () => onlyWatches(turn),
  }
}

function onlyWatches({ session, asked }: Turn): boolean {
  const prepared = asked?.prepared ?? null
  return prepared === null || session.stance(prepared.by) !== 'enforce'
}

async function prepare(turn: Turn, request: JsonObject): Promise<Prepared> {
  const { session, provider } = turn
  session.assertUsable()
  const view = provider.readRequest(request)
  try {
    await session.ready()
    if (!session.mayBlock()) return prepareWatched(turn, request, view)
    refuseNested(session, view)
    session.rules().checkProvider(provider.name, view.model)
    const turnBefore = enterQueue(turn, view)
    if (turnBefore !== null) {
      await turnBefore
      await session.calls.whenResolved(GRACE_MS)
    }
    session.assertUsable()
    // Turns before this one in the queue may have left something to answer.
    const completed = session.continuations.completion(provider, request)
    const asked = openRequest(session, provider, request, view)
    turn.asked = asked
    refuseUngovernable(view)
    if (view.tools.length > 0) {
      if (!session.calls.isIdle()) {
        await session.calls.whenIdle({ onLongWait: session.notes.toolWaits })
        session.assertUsable()
      }
      await waitForOthers(turn)
      resolveEarlierCalls(session, provider, asked)
      await session.deliver()
    }
    const isShared = session.settings.shared !== null
    const preflight = preflightOf(session.authority().plan, provider, asked, isShared, turn.options.waitsFor)
    const result = await session.authority().preflight(preflight)
    const prepared = narrowRequest(session, provider, asked, preflight, result)
    if ('request' in prepared) return { request: completed(prepared.request) }
    session.continuations.saidInstead(provider, request, prepared.said)
    leaveQueue(turn)
    return prepared
  } catch (error) {
    leaveQueue(turn)
    throw error
  }
}

/** Whoever makes the calls of another face, or sees their results, says what became of them. */
async function waitForOthers({ session: { calls }, options: { waitsFor } }: Turn): Promise<void> {
  if (waitsFor === undefined) return
  const others = (): boolean => [...calls.allowed(), ...calls.asking()].some(({ callId }) => waitsFor(callId))
  if (!others()) return
  await calls.whenResolved(GRACE_MS)
  if (others()) throw waitsForOthers()
}

/** Judges what it can and leaves the request as it is: not even a failure of the judgement has a consequence. */
async function prepareWatched(turn: Turn, request: JsonObject, view: RequestView): Promise<Prepared> {
  const { session, provider } = turn
  session.assertUsable()
  try {
    const asked = openRequest(session, provider, request, view)
    turn.asked = asked
    if (session.stance('local') === 'log') return { request }
    session.rules().checkProvider(provider.name, view.model)
    if (view.tools.length > 0) {
      resolveEarlierCalls(session, provider, asked)
      await session.deliver()
    }
    const isShared = session.settings.shared !== null
    const preflight = preflightOf(session.authority().plan, provider, asked, isShared)
    const result = await session.authority().preflight(preflight)
    narrowRequest(session, provider, asked, preflight, result)
  } catch (error) {
    session.assertUsable()
    session.notes.failed(error)
  }
  return { request }
}

/** The end of the turn before; null when this one need not wait for any. */
function enterQueue(turn: Turn, view: RequestView): Promise<void> | null {
  if (view.tools.length === 0 || !turn.session.mayBlock() || turn.place !== null) return null
  turn.place = turn.session.queue.enter()
  return turn.place.turnBefore
}

function leaveQueue(turn: Turn): void {
  turn.place?.leave()
  turn.place = null
}

async function judge(turn: Turn, answer: ModelAnswer): Promise<TurnResult> {
  const { session, provider, asked, place } = turn
  if (asked === null) throw new Error('a turn is judged before it was prepared')
  place?.stay()
  try {
    const context = readAnswer(session, provider, asked, answer)
    const { prepared } = asked
    if (prepared === null) {
      noteAnswer(context, 'log', [], null)
      noteDecided(turn, context, NOT_ENFORCED)
      return conclude(turn, context, { action: 'release' })
    }
    session.assertUsable()
    const stance = session.stance(prepared.by)
    if (stance !== 'enforce') {
      await watchAnswer(context, prepared, stance)
      noteDecided(turn, context, NOT_ENFORCED)
      return conclude(turn, context, { action: 'release' })
    }
    const ageMs = startAge()
    let verdict: ProposalVerdict
    try {
      verdict = await proposeAnswer(context, prepared, session.settings.gate)
    } catch (error) {
      verdict = await proposeAgain(context, prepared, error)
    }
    asked.trace.decided(verdict.decisions)
    const approver = turn.options.asksLater && session.approver.onCheckpoint === undefined ? 'later' : session.approver
    const registered = await registerCalls(verdict, proposedCalls(context, ageMs), approver)
    const calls = session.settings.shared === null ? registered : checkConstraints(session, registered)
    noteAnswer(context, 'enforce', calls.decisions, verdict.by)
    try {
      // People take their time: the session may have been killed meanwhile.
      session.assertUsable()
    } catch (error) {
      await giveUp(session, [...calls.open, ...calls.asking, ...calls.stopped])
      throw error
    }
    const result = passThroughGate(context, calls.decisions)
    if (result.action !== 'refuse') {
      openCalls(context, calls.asking.length === 0 ? calls.open : [...calls.open, ...calls.asking])
      noteDecided(turn, context, calls)
    }
    const notRun = result.action === 'refuse' ? [...calls.open, ...calls.asking, ...calls.stopped] : calls.stopped
    if (notRun.length > 0) await giveUp(session, notRun)
    return conclude(turn, context, result)
  } catch (error) {
    leaveQueue(turn)
    throw error
  }
}

function noteDecided({ options }: Turn, { response }: AnswerContext, calls: RegisteredCalls | null): void {
  options.onDecided?.({
    response,
    decisions: calls?.decisions ?? [],
    asking: calls?.asking ?? [],
    isEnforced: calls !== null,
  })
}

const NOT_ENFORCED = null

/** The program gets the answer or the error, unless the model is asked again. */
function conclude(turn: Turn, { asked, answer }: AnswerContext, result: AnswerResult): TurnResult {
  const { session, provider } = turn
  session.continuations.answered(provider, asked.request, seenAnswer(answer, result))
  if (result.action !== 'refuse') {
    leaveQueue(turn)
    return result
  }
  if (turn.retriesLeft === 0) throw result.error
  turn.retriesLeft--
  session.conversations.wrote(explainToModel(result.error.decision.blocked))
  return { action: 'retry', request: requestAgain(provider, asked, answer, result.error.decision.blocked) }
}

/** Nothing is released, and what the model used still counts. */
async function abandon(turn: Turn, answer: AbandonedAnswer): Promise<void> {
  const { session, asked } = turn
  try {
    const prepared = asked?.prepared ?? null
    if (prepared === null) return
    asked?.trace.add('llm_call', 'block', { reason: answer.why })
    const read = answer.response === null ? null : readResponse(answer.response)
    // A stream that failed has no usage to count, but the provider may have run something by then.
    if (read === null || (answer.why === 'failed' && read.providerRun.length === 0)) {
      return session.authority().abandon(prepared)
    }
    await session.authority().propose(costOnly(prepared, read, session.settings.gate))
  } catch (error) {
    session.notes.failed(error)
  } finally {
    leaveQueue(turn)
  }
}
