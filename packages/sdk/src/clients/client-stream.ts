import { isObject } from '../base/json-object.js'

/** What the streams of both clients have in common. */
export interface ClientStream extends AsyncIterable<unknown> {
  controller: AbortController
}

export function isClientStream(value: unknown): value is ClientStream {
  return isObject(value) && typeof Reflect.get(value, Symbol.asyncIterator) === 'function'
}

/**
 * Puts a layer under a stream without replacing it: whatever way it is read (iteration, `tee`, `toReadableStream`),
 * the events come from `layer`. Both clients have the source of a stream in its member `iterator`.
 */
export function layStream(
  stream: ClientStream,
  layer: (source: () => AsyncIterator<unknown>) => AsyncIterator<unknown>,
): void {
  const own: unknown = Reflect.get(stream, 'iterator')
  if (typeof own === 'function') {
    const source = (): AsyncIterator<unknown> => Reflect.apply(own, stream, [])
    Reflect.set(stream, 'iterator', () => layer(source))
    return
  }
  const iterate: unknown = Reflect.get(stream, Symbol.asyncIterator)
  if (typeof iterate !== 'function') return
  const source = (): AsyncIterator<unknown> => Reflect.apply(iterate, stream, [])
  Object.defineProperty(stream, Symbol.asyncIterator, {
    value: () => layer(source),
    configurable: true,
    writable: true,
  })
}

/** A stream that no request stands behind, with the members that programs use of the clients' own. */
export function streamOf(events: () => AsyncIterator<unknown>, controller = new AbortController()): ClientStream {
  const stream = {
    controller,
    iterator: events,
    [Symbol.asyncIterator]() {
      return stream.iterator()
    },
    tee(): [ClientStream, ClientStream] {
      const source = stream.iterator()
      const left: Promise<IteratorResult<unknown>>[] = []
      const right: Promise<IteratorResult<unknown>>[] = []
      const reader = (queue: Promise<IteratorResult<unknown>>[]) => () => ({
        next: () => {
          if (queue.length === 0) {
            const result = source.next()
            left.push(result)
            right.push(result)
          }
          return queue.shift() ?? source.next()
        },
      })
      return [streamOf(reader(left), controller), streamOf(reader(right), controller)]
    },
    toReadableStream: () => readableOf(stream, (event) => `${JSON.stringify(event)}\n`),
  }
  return stream
}

/** The bytes of a stream's events. Nothing of it is read before they are. */
export function readableOf(
  stream: AsyncIterable<unknown>,
  encode: (event: unknown) => string,
  end: () => string = () => '',
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const source = stream[Symbol.asyncIterator]()
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    try {
      const { value, done } = await source.next()
      if (!done) return controller.enqueue(encoder.encode(encode(value)))
      const ending = end()
      if (ending !== '') controller.enqueue(encoder.encode(ending))
      controller.close()
    } catch (error) {
      controller.error(error)
    }
  }
  const cancel = async (): Promise<void> => {
    await source.return?.()
  }
  return new ReadableStream<Uint8Array>({ pull, cancel }, { highWaterMark: 0 })
}
