import type { JsonObject } from '../base/json-object.js'
import { type ApiResult, GovernedPromise } from '../clients/api-promise.js'
import { isClientStream } from '../clients/client-stream.js'
import type { ModelCall } from '../clients/govern-client.js'
import type { SessionContext } from '../session/core/session-context.js'
import type { DecidedAnswer } from '../session/core/verdicts.js'
import { answerInstead, applyVerdict, blockedIn } from './apply-verdict.js'
import { judgeStream } from './judge-stream.js'
import { whole } from './read-answer.js'
import type { Asked } from './read-request.js'
import { beginTurn, type Turn } from './turn.js'

/** Governs the calls of a client. */
export function governorOf(session: SessionContext) {
  const { gate, maxRetries: retries } = session.settings
  const onDecided =
    gate === 'answer'
      ? (answer: DecidedAnswer): void => void session.verdicts.take(answer, session.approver)
      : undefined
  return {
    runTurn: (call: ModelCall) => runTurn(beginTurn(session, call.provider, { retries, onDecided }), call),
    binds: session.mayBlock,
    // A call that is refused rejects, like any other call of the client that fails.
    assertUsable: () => {},
  }
}

/** One governed call of a model, with its retries. */
export function runTurn(turn: Turn, call: ModelCall): GovernedPromise {
  return new GovernedPromise(askUntilShown(turn, call), call.provider)
}

/** Prepare the request, ask the model, judge its answer; start over where the judgement asks for a retry. */
async function askUntilShown(turn: Turn, call: ModelCall): Promise<ApiResult> {
  const { provider } = call
  let { request } = call
  for (;;) {
    const { asked, sending, data } = await ask(turn, call, request)
    if (asked.said !== null) {
      call.onBlocked?.([{ tool_name: '*', reason: asked.said.reason }])
      return answerInstead(provider, request, asked.said)
    }
    if (isClientStream(data)) {
      return { data: judgeStream(turn, asked, data, (again) => ask(turn, call, again)), call: sending }
    }
    const shown = await turn.judge(asked, whole(data))
    if (shown.action !== 'retry') {
      call.onBlocked?.(blockedIn(shown))
      return { data: applyVerdict(provider, data, shown), call: sending }
    }
    request = shown.request
  }
}

interface Answered {
  readonly asked: Asked
  readonly sending: unknown
  readonly data: unknown
}

/** Sends a request, unless something is said in its place; gives the model's answer as it is. */
async function ask(turn: Turn, call: ModelCall, request: JsonObject): Promise<Answered> {
  const asked = await turn.prepare(request)
  if (asked.said !== null) return { asked, sending: null, data: null }
  const addsUsage = request.stream === true && asked.stance === 'enforce'
  if (addsUsage) asked.sent = call.provider.withStreamUsage(asked.sent)
  asked.sentAtMs = performance.now()
  try {
    const sending = call.send(asked.sent)
    return { asked, sending, data: await (sending as Promise<unknown>) }
  } catch (error) {
    await turn.abandon(asked, { why: 'failed', response: null })
    throw error
  }
}
