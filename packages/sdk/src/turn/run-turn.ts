import type { JsonObject } from '../base/json-object.js'
import { type ApiResult, GovernedPromise } from '../clients/api-promise.js'
import { isClientStream } from '../clients/client-stream.js'
import type { ModelCall } from '../clients/govern-client.js'
import type { SaidInstead } from '../providers/provider.js'
import type { SessionContext } from '../session/core/session-context.js'
import type { DecidedAnswer } from '../session/core/verdicts.js'
import { answerInstead, answerOf, type GivenAnswer, type PendingRequest, wholeAnswer } from './judge-answer.js'
import { judgeStream } from './judge-stream.js'
import { createTurn } from './turn.js'
import type { TurnHooks } from './turn-hooks.js'

/** Governs the calls of a client. */
export function governorOf(session: SessionContext) {
  const { gate, maxRetries: retries } = session.settings
  const onDecided =
    gate === 'answer'
      ? (answer: DecidedAnswer): void => void session.verdicts.take(answer, session.approver)
      : undefined
  return {
    runTurn: (call: ModelCall) => runTurn(createTurn(session, call.provider, { retries, onDecided }), call),
    binds: session.mayBlock,
    // A call that is refused rejects, like any other call of the client that fails.
    assertUsable: () => {},
  }
}

/** One governed call of a model, with its retries. */
export function runTurn(hooks: TurnHooks, call: ModelCall): GovernedPromise {
  return new GovernedPromise(turnSteps(hooks, call), call.provider)
}

/** Prepare the request, ask the model, judge its answer; start over where the judgement asks for a retry. */
async function turnSteps(hooks: TurnHooks, call: ModelCall): Promise<ApiResult> {
  const { provider } = call
  let { request } = call
  for (;;) {
    const asked = await ask(hooks, call, request)
    if ('said' in asked) return answerInstead(provider, request, asked.said)
    const { pending, sending, data } = asked
    if (isClientStream(data)) {
      return { data: judgeStream(pending, data, (again) => ask(hooks, call, again)), call: sending }
    }
    const given: GivenAnswer = wholeAnswer(provider, data, await hooks.judge(answerOf(pending, data)))
    if (!('retry' in given)) return { data: given.data, call: sending }
    request = given.retry
  }
}

/** What came of a request: the answer of the model as it is, or what is said in its place. */
type Asked =
  | { readonly said: SaidInstead }
  | { readonly pending: PendingRequest; readonly sending: unknown; readonly data: unknown }

async function ask(hooks: TurnHooks, call: ModelCall, request: JsonObject): Promise<Asked> {
  const { provider } = call
  const prepared = await hooks.prepare(request)
  if ('said' in prepared) return prepared
  const addsUsage = request.stream === true && !hooks.onlyWatches()
  const sent = addsUsage ? provider.withStreamUsage(prepared.request) : prepared.request
  const pending: PendingRequest = { provider, hooks, request, sent, startedAt: performance.now() }
  try {
    const sending = call.send(sent)
    const data = (await sending) as Promise<unknown>
    return { pending, sending, data }
  } catch (error) {
    await hooks.abandon({ request: sent, response: null, why: 'failed', complete: false, error })
    throw error
  }
}
