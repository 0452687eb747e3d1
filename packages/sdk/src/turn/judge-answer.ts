import { withoutOddShapes } from '@countersign/engine'
import type { Decision } from '@countersign/protocol'
import { isObject, type JsonObject, withHiddenPropertiesOf } from '../base/json-object.js'
import type { ApiResult } from '../clients/api-promise.js'
import { streamOf } from '../clients/client-stream.js'
import type { Provider, SaidInstead } from '../providers/provider.js'
import { NOT_RUN } from '../session/core/continuations.js'
import { explainToModel } from '../session/core/gate.js'
import type { ModelAnswer, TurnHooks, TurnRequest, TurnResult } from './turn-hooks.js'

/** A request that the model was sent. */
export interface PendingRequest {
  provider: Provider
  hooks: TurnHooks
  /** As the program made it. */
  request: JsonObject
  sent: JsonObject
  startedAt: number
}

/** What the program gets, or the request to try again with. */
export type GivenAnswer = { data: unknown } | { retry: JsonObject }

/** The model was not asked, and this is said in its place. */
export function answerInstead(provider: Provider, request: JsonObject, said: SaidInstead): ApiResult {
  if (request.stream !== true) return { data: provider.textResponse(request, said), call: null }
  const events = provider.textEvents(request, said)
  return { data: streamOf(() => replay(events)), call: null }
}

async function* replay(events: readonly unknown[]): AsyncGenerator<unknown> {
  yield* events
}

/** What the program gets of an answer that came whole. */
export function wholeAnswer(provider: Provider, data: unknown, result: TurnResult): GivenAnswer {
  const response = isObject(data) ? data : {}
  switch (result.action) {
    case 'release':
      return { data: isMarked(result) ? withMark(response, result.marked) : data }
    case 'keep': {
      const kept = provider.keepCalls(response, result.callIds, result.text)
      return { data: isMarked(result) ? withMark(kept, result.marked) : kept }
    }
    case 'answer':
      return { data: provider.withTextOnly(knownShapes(provider, response), result.text) }
    case 'retry':
      return { retry: result.request }
  }
}

/** What is blocked is gone: also what only another reader would take for a call. */
function knownShapes({ format }: Provider, response: JsonObject): JsonObject {
  const { value } = withoutOddShapes(response, format, 'whole')
  return value === response ? response : withHiddenPropertiesOf(response, value)
}

type Marked = TurnResult & { readonly marked: readonly Decision[] }

export const isMarked = (result: TurnResult): result is Marked =>
  'marked' in result && result.marked !== undefined && result.marked.length > 0

/** Which calls of an answer are blocked, beside it: what stands in its messages is sent back to the provider. */
export const markOf = (marked: readonly Decision[]): JsonObject => ({
  blocked: marked.map((call) => ({
    call_id: call.call_id,
    tool_name: call.tool_name,
    reason: call.reason,
    remedy: explainToModel([call]),
  })),
})

const withMark = (response: JsonObject, marked: readonly Decision[]): JsonObject =>
  withHiddenPropertiesOf(response, { ...response, countersign: markOf(marked) })

/** The model sees its own calls, each answered with why it was not run; or, where that cannot be said, only why. */
export function requestAgain(
  provider: Provider,
  { request }: TurnRequest,
  { response, complete, contradiction }: ModelAnswer,
  blocked: readonly Decision[],
): JsonObject {
  const remedies = new Map(blocked.map((decision) => [decision.call_id, explainToModel([decision])]))
  const whyNotRun = (callId: string): string => remedies.get(callId) ?? NOT_RUN
  const isWhole = complete && contradiction === null && !remedies.has('')
  const answered = isWhole ? provider.withRefusedAnswer(request, response, whyNotRun) : null
  return answered ?? provider.withAppendedText(request, explainToModel(blocked))
}

export function answerOf({ sent, startedAt }: PendingRequest, data: unknown, came = WHOLE): ModelAnswer {
  const { complete, contradiction, streamed } = came
  const response = isObject(data) ? data : {}
  return { request: sent, response, complete, contradiction, streamed, latencyMs: performance.now() - startedAt }
}

type Came = Pick<ModelAnswer, 'complete' | 'contradiction' | 'streamed'>

const WHOLE: Came = { complete: true, contradiction: null, streamed: false }
