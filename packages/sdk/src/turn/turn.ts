import { readResponse } from '@countersign/engine'
import type { Decision } from '@countersign/protocol'
import type { OpenCall } from '../authority/open-calls.js'
import { notExecuted } from '../authority/receipts.js'
import { ReplayParkedError } from '../base/errors.js'
import type { JsonObject } from '../base/json-object.js'
import { startAge } from '../base/start-age.js'
import type { Provider } from '../providers/provider.js'
import { confirmsByRequester } from '../session/core/confirms-by-requester.js'
import { explainToModel } from '../session/core/gate.js'
import type { SessionContext } from '../session/core/session-context.js'
import type { QueuePlace } from '../session/core/turn-queue.js'
import type { DecidedAnswer } from '../session/core/verdicts.js'
import { passThroughGate, requestAgain, type Shown, seenAnswer } from './apply-verdict.js'
import { GRACE_MS, settleEarlier, type WaitsFor, waitForEarlier } from './earlier-calls.js'
import { preflight } from './preflight.js'
import { costOnly, propose, proposeOnce } from './propose.js'
import { type Answer, type Came, capture, type ProposedAgain, readAnswer } from './read-answer.js'
import { type Asked, openConversation, readRequest, refuseUngovernable } from './read-request.js'
import { redeem } from './redeem.js'
import { allowedCalls, register } from './register.js'

/** One governed call of a model, with its retries: the model is asked between these. */
export interface Turn {
  /** The model may be asked again after an answer: then its streams are joined. */
  readonly mayRetry: boolean
  /** Before the model is asked, each time. Throwing means that it is not asked. */
  prepare(request: JsonObject): Promise<Asked>
  /** Once per answer, before the program sees a part of any tool call. Throwing is what the program then sees. */
  judge(asked: Asked, came: Came): Promise<Shown>
  /** There is nothing to judge: the model call failed, or the program left the stream. Never throws. */
  abandon(asked: Asked, left: Left): Promise<void>
}

export interface Left {
  readonly why: 'failed' | 'left'
  /** What had been received; null when nothing had. */
  readonly response: JsonObject | null
}

export interface TurnOptions {
  /** How often the model may be asked again after a block. */
  readonly retries: number
  /** Questions to people are left open for the program to answer. */
  readonly asksLater?: boolean
  /** The program runs the calls with the model's own arguments: then no person can change them. */
  readonly runs?: 'judged' | 'own' | undefined
  /** The answer is proposed once more, now that people have decided about its calls. */
  readonly again?: ProposedAgain | undefined
  /** Called with each answer of the model that was judged. */
  readonly onDecided?: ((answer: DecidedAnswer) => void) | undefined
  readonly waitsFor?: WaitsFor | undefined
}

/** A turn under the rules of its session: preflight, narrowed request, proposal, checkpoints, gate. */
export function beginTurn(session: SessionContext, provider: Provider, options: TurnOptions): Turn {
  const { waitsFor = () => false, again: madeAgain } = options
  const runs = options.runs ?? (session.settings.shared === null ? 'judged' : 'own')
  /** In the queue of the session's turns; null where this one has not entered, or has left. */
  let place: QueuePlace | null = null
  let { retries } = options

  function leave(): void {
    place?.leave()
    place = null
  }

  async function enter(): Promise<void> {
    if (place !== null) return
    place = session.queue.enter()
    if (place.turnBefore === null) return
    await place.turnBefore
    await session.calls.whenResolved(GRACE_MS)
  }

  async function prepare(request: JsonObject): Promise<Asked> {
    session.assertUsable()
    const asked = readRequest(provider, request, runs)
    await session.ready()
    if (!session.mayBlock()) return watch(asked)
    refuseUngovernable(session, asked)
    const hasTools = asked.view.tools.length > 0
    if (hasTools) await enter()
    session.assertUsable()
    // Turns before this one in the queue may have left something to answer.
    const completed = session.continuations.completion(provider, request)
    openConversation(session, asked)
    if (hasTools) {
      await waitForEarlier(session, waitsFor)
      await settleEarlier(session, asked)
    }
    await preflight(session, asked, waitsFor)
    if (asked.said === null) asked.sent = completed(asked.sent)
    else {
      session.continuations.saidInstead(provider, request, asked.said)
      leave()
    }
    return asked
  }

  /** Judges what it can and leaves the request as it is: not even a failure of the judgement has a consequence. */
  async function watch(asked: Asked): Promise<Asked> {
    session.assertUsable()
    try {
      openConversation(session, asked)
      if (session.stance('local') === 'log') return asked
      session.rules().checkProvider(provider.name, asked.view.model)
      if (asked.view.tools.length > 0) await settleEarlier(session, asked)
      await preflight(session, asked, waitsFor)
    } catch (error) {
      session.assertUsable()
      session.notes.failed(error)
    }
    return asked
  }

  async function judge(asked: Asked, came: Came): Promise<Shown> {
    place?.stay()
    const read = proposedAgain(readAnswer(session, asked, came), madeAgain)
    if (asked.prepared !== null) session.assertUsable()
    if (asked.stance !== 'enforce') return watchAnswer(read)
    let ageMs = startAge()
    const first = { answer: read, verdict: await propose(session, read) }
    const { answer, verdict } = await redeem(session, first, {
      seconds: options.asksLater === true || madeAgain !== undefined ? 0 : session.settings.waitSeconds,
      leave,
      prepare: async () => {
        const again = readRequest(provider, asked.request, runs)
        await enter()
        place?.stay()
        session.assertUsable()
        await waitForEarlier(session, () => true)
        await session.deliver()
        await preflight(session, again, () => true)
        ageMs = startAge()
        return again
      },
    })
    asked.trace.decided(verdict.decisions)
    const calls = await register(session, allowedCalls(answer, verdict, ageMs), options.asksLater === true)
    const { open, asking, stopped, decisions } = calls
    session.questions.told(decisions)
    session.settings.shared?.onAnswer(questionIds(decisions))
    capture(session, answer, decisions, verdict.by)
    const all = [...open, ...asking, ...stopped]
    try {
      // People take their time: the session may have been killed meanwhile.
      session.assertUsable()
    } catch (error) {
      await giveUp(all)
      throw error
    }
    const result = passThroughGate(session, answer, decisions)
    session.continuations.answered(provider, asked.request, seenAnswer(came, result))
    if (result.action === 'refuse') {
      await giveUp(all)
      // People are asked: the model has nothing to do better.
      if (result.error instanceof ReplayParkedError || retries-- === 0) throw result.error
      const { blocked } = result.error.decision
      session.conversations.quoted(explainToModel(blocked))
      return { action: 'retry', request: requestAgain(answer, blocked) }
    }
    // From here on wrapped tools may run these calls.
    session.calls.add([...open, ...asking])
    asked.trace.add('finalize', 'pass')
    options.onDecided?.({ ...peopleOf(session), response: answer.read, decisions, asking, isEnforced: true })
    await giveUp(stopped)
    leave()
    return result
  }

  /** Judges without a consequence: not even a failure of the judgement has one. */
  async function watchAnswer(answer: Answer): Promise<Shown> {
    const { asked, came, read } = answer
    const { prepared, stance } = asked
    let watched: ReturnType<typeof allowedCalls>['decisions'] = []
    try {
      const ageMs = startAge()
      if (prepared !== null) {
        const verdict = await proposeOnce(session, answer, prepared, 'strip_blocked')
        asked.trace.decided(verdict.decisions)
        const { open, decisions } = allowedCalls(answer, verdict, ageMs)
        session.calls.add(open)
        session.notes.watched(stance, prepared.removed, decisions)
        watched = decisions
      }
    } catch (error) {
      session.notes.failed(error)
    }
    capture(session, answer, watched, prepared?.by ?? null)
    options.onDecided?.({ ...peopleOf(session), response: read, decisions: [], asking: [], isEnforced: false })
    session.continuations.answered(provider, asked.request, seenAnswer(came, { action: 'release' }))
    leave()
    return { action: 'release' }
  }

  /** These calls do not run, and their outcome is reported. */
  async function giveUp(calls: readonly OpenCall[]): Promise<void> {
    for (const call of calls) session.calls.resolve(call, notExecuted(call))
    if (calls.length > 0) await session.deliver()
  }

  /** Nothing is released, and what the model used still counts. */
  async function abandon({ prepared, trace }: Asked, { why, response }: Left): Promise<void> {
    try {
      if (prepared === null) return
      trace.add('llm_call', 'block', { reason: why })
      const read = response === null ? null : readResponse(response)
      // A stream that failed has no usage to count, but the provider may have run something by then.
      const hasCost = read !== null && (why === 'left' || read.providerRun.length > 0)
      if (hasCost) await session.authority().judge(costOnly(prepared, read, session.settings.gate))
      else session.authority().abandon(prepared)
    } catch (error) {
      session.notes.failed(error)
    } finally {
      leave()
    }
  }

  const leaving = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error): never => {
      leave()
      throw error
    })

  return {
    mayRetry: options.retries > 0,
    prepare: (request) => leaving(prepare(request)),
    judge: (asked, came) => leaving(judge(asked, came)),
    abandon,
  }
}

/** The calls of a question that is resumed come from no conversation: the service has where their values came from. */
const proposedAgain = (answer: Answer, again: TurnOptions['again']): Answer =>
  again === undefined ? answer : { ...answer, flows: undefined, again }

const peopleOf = ({ questions, authority }: SessionContext): Pick<DecidedAnswer, 'urlOf' | 'confirms'> => ({
  urlOf: (id) => questions.known().find(({ question_id }) => question_id === id)?.url ?? null,
  confirms: (tool) => confirmsByRequester(authority().plan, tool),
})

const questionIds = (decisions: readonly Decision[]): string[] =>
  decisions.flatMap(({ question }) => (question === undefined ? [] : [question.question_id]))
