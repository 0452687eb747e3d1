import { isObject, type JsonObject } from '../base/json-object.js'
import { isPromised, type KnownOrPromised } from '../base/known-or-promised.js'
import type { Provider, SaidInstead, StreamGate } from '../providers/provider.js'
import { type ApiResult, GovernedPromise } from './api-promise.js'
import { type ClientStream, isClientStream, layStream, streamOf } from './client-stream.js'
import type { ModelAnswer, TurnHooks, Verdict } from './turn-hooks.js'

export interface GovernedCall {
  provider: Provider
  request: JsonObject
  /** Calls the model through the original client. */
  send(request: JsonObject): unknown
  hooks: TurnHooks
}

/** One call of a model under the eyes of `hooks`: prepared before, judged after, asked again where they say so. */
export function governCall(call: GovernedCall): GovernedPromise {
  return new GovernedPromise(run(call), call.provider)
}

async function run(call: GovernedCall): Promise<ApiResult> {
  const { provider, hooks } = call
  let { request } = call
  for (;;) {
    const preparing = hooks.prepare(request)
    const prepared = isPromised(preparing) ? await preparing : preparing
    if ('said' in prepared) return saidInstead(provider, request, prepared.said)
    const sent = request.stream === true ? provider.withStreamUsage(prepared.request) : prepared.request
    const startedAt = performance.now()
    let sending: unknown
    let data: unknown
    try {
      sending = call.send(sent)
      data = await sending
    } catch (error) {
      await hooks.abandon({ request: sent, response: null, why: 'failed', complete: false, error })
      throw error
    }
    const asked: Asked = { provider, hooks, program: request, sent, startedAt }
    const judging = isClientStream(data) ? judgeStream(asked, data) : judgeWhole(asked, data)
    const judged = isPromised(judging) ? await judging : judging
    if (!('retry' in judged)) return { data: judged.data, call: sending }
    request = judged.retry
  }
}

interface Asked {
  provider: Provider
  hooks: TurnHooks
  /** The request as the program made it, and as it was sent. */
  program: JsonObject
  sent: JsonObject
  startedAt: number
}

type Judged = { data: unknown } | { retry: JsonObject }

function saidInstead(provider: Provider, request: JsonObject, said: SaidInstead): ApiResult {
  if (request.stream !== true) return { data: provider.textResponse(request, said), call: null }
  const events = provider.textEvents(request, said)
  return { data: streamOf(() => replay(events)), call: null }
}

async function* replay(events: readonly unknown[]): AsyncGenerator<unknown> {
  yield* events
}

function judgeWhole(asked: Asked, data: unknown): KnownOrPromised<Judged> {
  const { provider, hooks } = asked
  const judging = hooks.judge(answerOf(asked, data, WHOLE))
  return isPromised(judging)
    ? judging.then((verdict) => wholeAnswer(provider, data, verdict))
    : wholeAnswer(provider, data, judging)
}

function wholeAnswer(provider: Provider, data: unknown, verdict: Verdict): Judged {
  const response = isObject(data) ? data : {}
  switch (verdict.action) {
    case 'release':
      return { data }
    case 'keep':
      return { data: provider.keepCalls(response, verdict.callIds) }
    case 'answer':
      return { data: provider.withTextOnly(response, verdict.text) }
    case 'retry':
      return { retry: verdict.request }
  }
}

async function judgeStream(asked: Asked, stream: ClientStream): Promise<Judged> {
  const { hooks, provider, program } = asked
  const gate = provider.readStream(program, { holdAll: hooks.holdStreams })
  if (!hooks.holdStreams) {
    layStream(stream, (source) => flow(asked, gate, source(), stream.controller))
    return { data: stream }
  }
  // What goes wrong is seen where the stream is read, as it would be without the hold.
  const failed = (error: unknown): Judged => {
    layStream(stream, () => failing(error))
    return { data: stream }
  }
  try {
    for await (const event of stream) if (isObject(event)) gate.take(event)
  } catch (error) {
    await hooks.abandon({ request: asked.sent, response: gate.response(), why: 'failed', complete: false, error })
    return failed(error)
  }
  try {
    const verdict = await hooks.judge(streamAnswer(asked, gate))
    if (verdict.action === 'retry') return { retry: verdict.request }
    const events = released(gate, verdict)
    layStream(stream, () => replay(events))
    return { data: stream }
  } catch (error) {
    return failed(error)
  }
}

/** The events that may flow as they come; those that may not, after the judgement. */
async function* flow(
  asked: Asked,
  gate: StreamGate,
  source: AsyncIterator<unknown>,
  controller: AbortController,
): AsyncGenerator<unknown> {
  const abandon = (why: 'failed' | 'left', error?: unknown) =>
    asked.hooks.abandon({
      request: asked.sent,
      response: gate.response(),
      why,
      complete: gate.complete() && !gate.holding(),
      error,
    })
  let ended = false
  try {
    for await (const event of { [Symbol.asyncIterator]: () => source }) {
      if (isObject(event)) yield* gate.take(event)
      else yield event
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
  if (controller?.signal?.aborted && !gate.complete()) return abandon('left')
  yield* released(gate, await asked.hooks.judge(streamAnswer(asked, gate)))
}

// biome-ignore lint/correctness/useYield: a stream that fails before its first event
async function* failing(error: unknown): AsyncGenerator<unknown> {
  throw error
}

function released(gate: StreamGate, verdict: Verdict): JsonObject[] {
  switch (verdict.action) {
    case 'release':
      return gate.release()
    case 'keep':
      return gate.releaseOnly(verdict.callIds)
    case 'answer':
      return gate.releaseOnly(new Set(), verdict.text)
    case 'retry':
      throw new Error('a stream that has begun to flow cannot be asked for again; set holdStreams')
  }
}

function streamAnswer(asked: Asked, gate: StreamGate): ModelAnswer {
  const came = { complete: gate.complete(), contradiction: gate.contradiction(), streamed: true }
  return answerOf(asked, gate.response(), came)
}

function answerOf({ sent, startedAt }: Asked, data: unknown, came: Came): ModelAnswer {
  const { complete, contradiction, streamed } = came
  const response = isObject(data) ? data : {}
  return { request: sent, response, complete, contradiction, streamed, latencyMs: performance.now() - startedAt }
}

type Came = Pick<ModelAnswer, 'complete' | 'contradiction' | 'streamed'>

const WHOLE: Came = { complete: true, contradiction: null, streamed: false }
