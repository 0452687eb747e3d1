import { GatewayProblem } from '../base/problems.js'
import { readEvents, type StreamEvent, withMessage } from './event-stream.js'
import type { GovernedServer } from './governed-server.js'
import type { UpstreamAnswer } from './http-upstream.js'
import { type MessageId, type RpcResponse, readServerMessage, writeMessage } from './message.js'

export const LIST_CHANGED = { kind: 'notification', method: 'notifications/tools/list_changed', params: {} } as const

/** What a host expects of an answer of the server. */
export interface Expected {
  /** Of its request; null where it waits for no answer. */
  readonly id: MessageId | null
  /** Null where what comes is not governed. */
  readonly server: GovernedServer | null
  /** What the host gets in place of the answer; null where that is the answer as it came. */
  readonly change: ((response: RpcResponse) => Promise<RpcResponse>) | null
}

/** An answer to another request is none. A server that could not read the id says null, and that something failed. */
export const answers = (response: RpcResponse, id: MessageId | null): boolean =>
  (id !== null && response.id === id) || (response.id === null && response.error !== null)

/**
 * A message of the server as the host may have it. Null where it is none, or the answer to another request: hosts take an
 * answer from wherever it comes, and a list of tools in it would pass unread.
 */
export async function passedText(text: string, { id, server, change }: Expected): Promise<string | null> {
  const read = readServerMessage(text)
  if (!read.ok) return null
  const { message } = read
  if (message.kind === 'response') {
    if (!answers(message, id)) return null
    return change === null ? read.text : writeMessage(await change(message))
  }
  if (message.kind === 'notification' && message.method === LIST_CHANGED.method) server?.listChanged()
  return read.text
}

/** The same for an event of a stream: its text as it came, or with what the host may have in it. */
export async function passedEvent(event: StreamEvent, expected: Expected): Promise<string | null> {
  if (event.data === null) return event.raw
  const text = await passedText(event.data, expected)
  if (text === null) return null
  return text === event.data ? event.raw : withMessage(event, text)
}

/** The answer to a request, whole or as a stream. */
export async function passedAnswer(answer: UpstreamAnswer, expected: Expected): Promise<Response> {
  const { status, headers } = answer
  if (answer.isStream) return new Response(passedEvents(answer, expected), { status, headers })
  if (status === 202 || status === 204) {
    answer.drop()
    return new Response(null, { status, headers })
  }
  const text = await answer.text()
  if (text === '') return new Response(null, { status, headers })
  const passed = await passedText(text, expected)
  if (passed !== null) return new Response(passed, { status, headers })
  if (expected.id === null) return new Response(null, { status, headers })
  // What is no message says why the server refuses the request as such.
  if (status >= 400 && !readServerMessage(text).ok) return new Response(text, { status, headers })
  throw new GatewayProblem(
    'upstream_invalid',
    'the MCP server answered with something that is not the answer to the request: ask again, or look at the server',
  )
}

/** Between two events the gateway may say something of its own, once `start` has given it the way. */
export function passedEvents(
  answer: UpstreamAnswer,
  expected: Expected,
  { start, end }: { start(say: (text: string) => void): void; end(): void } = { start() {}, end() {} },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const events = readEvents(answer.body)
  return new ReadableStream<Uint8Array>({
    start: (controller) => start((text) => controller.enqueue(encoder.encode(text))),
    async pull(controller) {
      try {
        // Until something passes: nothing is asked again where nothing was given.
        for (;;) {
          const { done, value } = await events.next()
          if (done) {
            end()
            return controller.close()
          }
          const passed = await passedEvent(value, expected)
          if (passed !== null) return controller.enqueue(encoder.encode(passed))
        }
      } catch (error) {
        end()
        controller.error(error)
      }
    },
    async cancel() {
      end()
      // Before the events end: they may be waiting for the server.
      answer.drop()
      await events.return(undefined)
    },
  })
}
