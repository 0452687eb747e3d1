import { type Cleaned, withoutOddShapes } from '@countersign/engine'
import { isObject, type JsonObject } from '../base/json-object.js'
import { type ClientStream, isClientStream, layStream } from '../clients/client-stream.js'
import type { Provider, StreamHold, StreamJoin } from '../providers/provider.js'
import { isMarked, markOf, type Shown } from './apply-verdict.js'
import type { Asked } from './read-request.js'
import type { Turn } from './turn.js'

/**
 * A stream is judged at its end, as the program reads it: text flows, and from the first part of a call on everything is
 * held. If the model is asked again, its next answer goes on in the same stream.
 */
export function judgeStream(turn: Turn, asked: Asked, stream: ClientStream, askAgain: AskAgain): ClientStream {
  layStream(stream, (source) => flow(turn, asked, { source: source(), controller: stream.controller, askAgain }))
  return stream
}

/** The model's answer to another request of the same turn. */
type AskAgain = (request: JsonObject) => Promise<{ readonly asked: Asked; readonly data: unknown }>

interface Flow {
  readonly source: AsyncIterator<unknown>
  /** Of the stream that the program holds. */
  readonly controller: AbortController
  readonly askAgain: AskAgain
}

async function* flow(turn: Turn, first: Asked, { source, controller, askAgain }: Flow): AsyncGenerator<unknown> {
  const { provider } = first
  const isEnforced = first.stance === 'enforce'
  const join = isEnforced && turn.mayRetry ? provider.joinStreams() : null
  let asked = first
  let from = source
  for (;;) {
    const hold = provider.readStream(asked.request)
    const shown = yield* flowOnce(turn, asked, { hold, source: from, controller, join })
    if (shown === null) return
    if (shown.action !== 'retry') {
      if (isEnforced) yield* joined(released(hold, shown), join)
      return
    }
    if (join === null) throw new Error('a stream that cannot be joined is asked for again')
    yield* join.again()
    const again = await askAgain(shown.request)
    if (again.asked.said !== null) {
      yield* joined(provider.textEvents(asked.request, again.asked.said), join)
      return
    }
    const { data } = again
    if (!isClientStream(data)) throw new Error('the model answered a request for a stream with something else')
    endTogether(controller, data.controller)
    asked = again.asked
    from = data[Symbol.asyncIterator]()
  }
}

interface OneFlow extends Omit<Flow, 'askAgain'> {
  readonly hold: StreamHold
  readonly join: StreamJoin | null
}

/** Lets one answer flow as far as it may, and judges it. Null when the program left it. */
async function* flowOnce(
  turn: Turn,
  asked: Asked,
  { hold, source, controller, join }: OneFlow,
): AsyncGenerator<unknown, Shown | null> {
  const abandon = (why: 'failed' | 'left') => turn.abandon(asked, { why, response: hold.response() })
  const passesAll = asked.stance !== 'enforce'
  let oddShape: string | null = null
  let ended = false
  try {
    for await (const event of { [Symbol.asyncIterator]: () => source }) {
      const { value, problem } = knownShapes(asked.provider, event)
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
    await abandon('failed')
    throw error
  } finally {
    if (!ended) await abandon('left')
  }
  // The clients end a stream quietly when the program aborts it.
  if (controller?.signal?.aborted && !hold.complete()) {
    await abandon('left')
    return null
  }
  const came = { response: hold.response(), complete: hold.complete(), contradiction: hold.contradiction(), oddShape }
  return turn.judge(asked, came)
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

function released(hold: StreamHold, shown: Exclude<Shown, { action: 'retry' }>): JsonObject[] {
  switch (shown.action) {
    case 'release':
      return isMarked(shown) ? withMarkAtEnd(hold.release(), shown.marked) : hold.release()
    case 'keep': {
      const events = hold.releaseOnly(shown.callIds, shown.text)
      return isMarked(shown) ? withMarkAtEnd(events, shown.marked) : events
    }
    case 'answer':
      return hold.releaseOnly(new Set(), shown.text)
  }
}

function withMarkAtEnd(events: readonly JsonObject[], marked: Parameters<typeof markOf>[0]): JsonObject[] {
  const last = events.at(-1)
  return last === undefined ? [] : [...events.slice(0, -1), { ...last, countersign: markOf(marked) }]
}
