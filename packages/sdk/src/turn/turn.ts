import { readResponse } from '@countersign/engine'
import type { JsonObject } from '../base/json-object.js'
import { isPromised, type KnownOrPromised } from '../base/known-or-promised.js'
import type { OpenRequest } from '../clients/conversations.js'
import type { AbandonedAnswer, ModelAnswer, Prepared, TurnHooks, Verdict } from '../clients/turn-hooks.js'
import type { Provider, RequestView } from '../providers/provider.js'
import type { JudgedAnswer } from './continuations.js'
import { explainToModel } from './gate.js'
import { costOnly, type Judged, judgeTurn } from './judge-turn.js'
import { prepareTurn, refuseNested } from './prepare-turn.js'
import { createTrace } from './trace.js'
import type { QueuePlace } from './turn-queue.js'
import { type Asked, binds, type TurnSession } from './turn-session.js'

/** A turn that came beside another lets the program run the calls of that one first. */
const GRACE_MS = 2_000

/** One governed call of a model with its retries: preflight, narrowed request, proposal, checkpoints, gate. */
export function createTurn(session: TurnSession, provider: Provider): TurnHooks {
  const { settings, notes } = session
  let place: QueuePlace | null = null
  let asked: Asked | null = null
  let retries = 0

  const finish = (): void => {
    place?.leave()
    place = null
  }

  const open = (request: JsonObject, { previousResponseId }: RequestView): OpenRequest =>
    session.conversations.open({ messages: provider.readMessages(request), previousResponseId })

  const fail = (error: unknown): never => {
    finish()
    throw error
  }

  function prepare(request: JsonObject): KnownOrPromised<Prepared> {
    session.assertUsable()
    const view = provider.readRequest(request)
    refuseNested(session, view)
    try {
      const entering = session.isReady() ? enter(view) : session.ready().then(() => enter(view))
      const preparing = isPromised(entering) ? entering.then(() => ask(request, view)) : ask(request, view)
      return isPromised(preparing) ? preparing.catch(fail) : preparing
    } catch (error) {
      return fail(error)
    }
  }

  /** Waits for the turns that came before. */
  function enter(view: RequestView): KnownOrPromised<void> {
    session.checkProvider(provider.name, view.model)
    if (view.tools.length === 0 || !binds(session) || place !== null) return
    place = session.queue.enter()
    if (place.turnBefore !== null) return place.turnBefore.then(() => session.book.resolved(GRACE_MS))
  }

  function ask(request: JsonObject, view: RequestView): KnownOrPromised<Prepared> {
    session.assertUsable()
    // Turns before this one in the queue may have left something to answer.
    const mend = session.continuations.mending(provider, request)
    const opened = session.followsConversations() ? open(request, view) : null
    asked = { request, view, trace: createTrace(), opened, prepared: null }
    notes.traced(asked.trace)
    const sendable = (prepared: Prepared): Prepared => {
      if ('request' in prepared) return { request: mend(prepared.request) }
      session.continuations.saidInstead(provider, request, prepared.said)
      finish()
      return prepared
    }
    const preparing = prepareTurn(session, provider, asked)
    return isPromised(preparing) ? preparing.then(sendable) : sendable(preparing)
  }

  function judge(answer: ModelAnswer): KnownOrPromised<Verdict> {
    if (asked === null) throw new Error('a turn is judged before it was prepared')
    const { request } = asked
    place?.stay()
    try {
      const judging = judgeTurn(session, provider, asked, answer)
      if (!isPromised(judging)) return conclude(request, answer, judging)
      return judging.then((judged) => conclude(request, answer, judged)).catch(fail)
    } catch (error) {
      return fail(error)
    }
  }

  function conclude(request: JsonObject, answer: ModelAnswer, judged: Judged): Verdict {
    session.continuations.judged(provider, request, seenOf(answer, judged))
    if (judged.action !== 'refuse') {
      finish()
      return judged
    }
    if (retries >= settings.maxRetries) throw judged.error
    retries++
    return {
      action: 'retry',
      request: provider.withAppendedText(request, explainToModel(judged.error.decision.blocked)),
    }
  }

  /** Nothing is released, and what the model used is counted still. */
  async function abandon(answer: AbandonedAnswer): Promise<void> {
    try {
      const prepared = asked?.prepared ?? null
      if (prepared === null) return
      asked?.trace.add('llm_call', 'block', { reason: answer.why })
      if (answer.why === 'failed' || answer.response === null) return session.authority().abandon(prepared)
      await session.authority().propose(costOnly(prepared, readResponse(answer.response), settings.gate))
    } catch (error) {
      notes.failed(error)
    } finally {
      finish()
    }
  }

  return { prepare, judge, abandon, holdStreams: settings.maxRetries > 0 }
}

/** What of an answer the program gets, and what the provider keeps beyond that. */
function seenOf({ response, complete }: ModelAnswer, verdict: Judged): JudgedAnswer {
  switch (verdict.action) {
    case 'release':
      return { response, complete, keptIds: null, blocked: [] }
    case 'keep':
      return { response, complete, keptIds: verdict.callIds, blocked: verdict.blocked }
    case 'answer':
      return { response, complete, keptIds: NONE, blocked: verdict.blocked }
    case 'refuse':
      return { response, complete, keptIds: NONE, blocked: verdict.error.decision.blocked }
  }
}

const NONE: ReadonlySet<string> = new Set()
