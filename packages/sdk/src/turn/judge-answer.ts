import type { Decision } from '@countersign/protocol'
import { isObject, type JsonObject, withHiddenPropertiesOf } from '../base/json-object.js'
import { runToPromise } from '../base/steps.js'
import type { ApiResult } from '../clients/api-promise.js'
import { type ClientStream, layStream, streamOf } from '../clients/client-stream.js'
import type { Provider, SaidInstead, StreamHold } from '../providers/provider.js'
import { explainToModel } from './gate.js'
import type { ModelAnswer, TurnHooks, TurnResult } from './turn-hooks.js'

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
      const kept = provider.keepCalls(response, result.callIds)
      return { data: isMarked(result) ? withMark(kept, result.marked) : kept }
    }
    case 'answer':
      return { data: provider.withTextOnly(response, result.text) }
    case 'retry':
      return { retry: result.request }
  }
}

/** A stream is judged at its end: as the program reads it, or here at once where it may be thrown away for a retry. */
export async function judgeStream(pending: PendingRequest, stream: ClientStream): Promise<GivenAnswer> {
  const { hooks, provider, request } = pending
  const holdAll = hooks.holdStreams
  const hold = provider.readStream(request, { holdAll })
  if (!holdAll) {
    layStream(stream, (source) => flow(pending, hold, source(), stream.controller))
    return { data: stream }
  }
  // What goes wrong is seen where the stream is read, as it would be without the hold.
  const failed = (error: unknown): GivenAnswer => {
    layStream(stream, () => failing(error))
    return { data: stream }
  }
  try {
    for await (const event of stream) if (isObject(event)) hold.take(event)
  } catch (error) {
    await hooks.abandon({ request: pending.sent, response: hold.response(), why: 'failed', complete: false, error })
    return failed(error)
  }
  try {
    const result = await runToPromise(hooks.judge(streamAnswer(pending, hold)))
    if (result.action === 'retry') return { retry: result.request }
    const events = released(hold, result)
    layStream(stream, () => replay(events))
    return { data: stream }
  } catch (error) {
    return failed(error)
  }
}

/** The events that may flow as they come; those that may not, after the judgement. */
async function* flow(
  pending: PendingRequest,
  hold: StreamHold,
  source: AsyncIterator<unknown>,
  controller: AbortController,
): AsyncGenerator<unknown> {
  const abandon = (why: 'failed' | 'left', error?: unknown) =>
    pending.hooks.abandon({
      request: pending.sent,
      response: hold.response(),
      why,
      complete: hold.complete() && !hold.holding(),
      error,
    })
  const passesAll = pending.hooks.onlyWatches
  let ended = false
  try {
    for await (const event of { [Symbol.asyncIterator]: () => source }) {
      const free = isObject(event) ? hold.take(event) : [event]
      if (passesAll) yield event
      else yield* free
    }
    ended = true
  } catch (error) {
    ended = true
    await abandon('failed', error)
    throw error
  } finally {
    if (!ended) await abandon('left')
  }
  // The clients end a stream quietly when the program aborts it.
  if (controller?.signal?.aborted && !hold.complete()) return abandon('left')
  const result = await runToPromise(pending.hooks.judge(streamAnswer(pending, hold)))
  if (!passesAll) yield* released(hold, result)
}

// biome-ignore lint/correctness/useYield: a stream that fails before its first event
async function* failing(error: unknown): AsyncGenerator<unknown> {
  throw error
}

function released(hold: StreamHold, result: TurnResult): JsonObject[] {
  switch (result.action) {
    case 'release':
      return isMarked(result) ? withMarkAtEnd(hold.release(), result.marked) : hold.release()
    case 'keep': {
      const events = hold.releaseOnly(result.callIds)
      return isMarked(result) ? withMarkAtEnd(events, result.marked) : events
    }
    case 'answer':
      return hold.releaseOnly(new Set(), result.text)
    case 'retry':
      throw new Error('a stream that has begun to flow cannot be asked for again')
  }
}

type Marked = TurnResult & { readonly marked: readonly Decision[] }

const isMarked = (result: TurnResult): result is Marked =>
  'marked' in result && result.marked !== undefined && result.marked.length > 0

/** Which calls of an answer are blocked, beside it: what stands in its messages is sent back to the provider. */
const markOf = (marked: readonly Decision[]): JsonObject => ({
  blocked: marked.map((call) => ({
    call_id: call.call_id,
    tool_name: call.tool_name,
    reason: call.reason,
    remedy: explainToModel([call]),
  })),
})

const withMark = (response: JsonObject, marked: readonly Decision[]): JsonObject =>
  withHiddenPropertiesOf(response, { ...response, countersign: markOf(marked) })

function withMarkAtEnd(events: readonly JsonObject[], marked: readonly Decision[]): JsonObject[] {
  const last = events.at(-1)
  return last === undefined ? [] : [...events.slice(0, -1), { ...last, countersign: markOf(marked) }]
}

function streamAnswer(pending: PendingRequest, hold: StreamHold): ModelAnswer {
  const came = { complete: hold.complete(), contradiction: hold.contradiction(), streamed: true }
  return answerOf(pending, hold.response(), came)
}

export function answerOf({ sent, startedAt }: PendingRequest, data: unknown, came = WHOLE): ModelAnswer {
  const { complete, contradiction, streamed } = came
  const response = isObject(data) ? data : {}
  return { request: sent, response, complete, contradiction, streamed, latencyMs: performance.now() - startedAt }
}

type Came = Pick<ModelAnswer, 'complete' | 'contradiction' | 'streamed'>

const WHOLE: Came = { complete: true, contradiction: null, streamed: false }
