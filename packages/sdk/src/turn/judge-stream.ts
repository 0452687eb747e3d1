import { type Cleaned, withoutOddShapes } from '@countersign/engine'
import { isObject, type JsonObject } from '../base/json-object.js'
import { type ClientStream, isClientStream, layStream } from '../clients/client-stream.js'
import type { Provider, SaidInstead, StreamHold, StreamJoin } from '../providers/provider.js'
import { answerOf, isMarked, markOf, type PendingRequest } from './judge-answer.js'
import type { ModelAnswer, TurnResult } from './turn-hooks.js'

/** The model's answer to another request of the same turn, or what is said in its place. */
export type AnswerAgain = { readonly said: SaidInstead } | { readonly pending: PendingRequest; readonly data: unknown }

type AskAgain = (request: JsonObject) => Promise<AnswerAgain>

/**
 * A stream is judged at its end, as the program reads it: text flows, and from the first part of a call on everything is
 * held. If the model is asked again, its next answer goes on in the same stream.
 */
export function judgeStream(pending: PendingRequest, stream: ClientStream, askAgain: AskAgain): ClientStream {
  layStream(stream, (source) => flow(pending, source(), stream.controller, askAgain))
  return stream
}

async function* flow(
  first: PendingRequest,
  begun: AsyncIterator<unknown>,
  controller: AbortController,
  askAgain: AskAgain,
): AsyncGenerator<unknown> {
  const { provider, hooks } = first
  const join = hooks.mayRetry() ? provider.joinStreams() : null
  let pending = first
  let source = begun
  for (;;) {
    const hold = provider.readStream(pending.request)
    const result = yield* flowOnce(pending, hold, source, { controller, join })
    if (result === null) return
    if (result.action !== 'retry') {
      if (!hooks.onlyWatches()) yield* joined(released(hold, result), join)
      return
    }
    if (join === null) throw new Error('a stream that cannot be joined is asked for again')
    yield* join.again()
    const again = await askAgain(result.request)
    if ('said' in again) {
      yield* joined(provider.textEvents(pending.request, again.said), join)
      return
    }
    const { data } = again
    if (!isClientStream(data)) throw new Error('the model answered a request for a stream with something else')
    endTogether(controller, data.controller)
    pending = again.pending
    source = data[Symbol.asyncIterator]()
  }
}

/** Lets one answer flow as far as it may, and judges it. Null when the program left it. */
async function* flowOnce(
  pending: PendingRequest,
  hold: StreamHold,
  source: AsyncIterator<unknown>,
  { controller, join }: { readonly controller: AbortController; readonly join: StreamJoin | null },
): AsyncGenerator<unknown, TurnResult | null> {
  const abandon = (why: 'failed' | 'left', error?: unknown) =>
    pending.hooks.abandon({
      request: pending.sent,
      response: hold.response(),
      why,
      complete: hold.complete() && !hold.holding(),
      error,
    })
  const passesAll = pending.hooks.onlyWatches()
  let oddShape: string | null = null
  let ended = false
  try {
    for await (const event of { [Symbol.asyncIterator]: () => source }) {
      const { value, problem } = knownShapes(pending.provider, event)
      if (problem !== null) hold.doubt(problem)
      oddShape ??= problem
      const free = value === null ? [] : hold.take(value)
      if (passesAll) yield event
      else if (join === null) yield* free
      else yield* joined(free, join)
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
  if (controller?.signal?.aborted && !hold.complete()) {
    await abandon('left')
    return null
  }
  return pending.hooks.judge({ ...streamAnswer(pending, hold), oddShape })
}

/** The event without what another reader could take for a call: nothing of that may flow. */
function knownShapes({ format }: Provider, event: unknown): Cleaned<JsonObject | null> {
  if (!isObject(event)) return { value: null, problem: 'an event of the stream is no object' }
  return withoutOddShapes(event, format, 'event')
}

function* joined(events: readonly unknown[], join: StreamJoin | null): Generator<unknown> {
  for (const event of events) {
    if (join === null || !isObject(event)) yield event
    else yield* join.join(event)
  }
}

/** The program holds the stream that it asked for first, and may abort that. */
function endTogether(asked: AbortController, again: AbortController): void {
  if (asked?.signal?.aborted) again?.abort()
  else asked?.signal?.addEventListener('abort', () => again?.abort(), { once: true })
}

function released(hold: StreamHold, result: Exclude<TurnResult, { action: 'retry' }>): JsonObject[] {
  switch (result.action) {
    case 'release':
      return isMarked(result) ? withMarkAtEnd(hold.release(), result.marked) : hold.release()
    case 'keep': {
      const events = hold.releaseOnly(result.callIds, result.text)
      return isMarked(result) ? withMarkAtEnd(events, result.marked) : events
    }
    case 'answer':
      return hold.releaseOnly(new Set(), result.text)
  }
}

function withMarkAtEnd(events: readonly JsonObject[], marked: Parameters<typeof markOf>[0]): JsonObject[] {
  const last = events.at(-1)
  return last === undefined ? [] : [...events.slice(0, -1), { ...last, countersign: markOf(marked) }]
}

function streamAnswer(pending: PendingRequest, hold: StreamHold): ModelAnswer {
  const came = { complete: hold.complete(), contradiction: hold.contradiction(), streamed: true }
  return answerOf(pending, hold.response(), came)
}
