import { messageEvent, readEvents } from './event-stream.js'
import type { UpstreamAnswer } from './http-upstream.js'
import type { GovernedServer } from './mcp-sessions.js'
import { writeMessage } from './message.js'

export const LIST_CHANGED = { kind: 'notification', method: 'notifications/tools/list_changed', params: {} } as const

/** A stream of a server that answers no request: everything passes, and between two events the host hears of a changed list. */
export function passStream(answer: UpstreamAnswer, { governor, streams }: GovernedServer): Response {
  const encoder = new TextEncoder()
  const events = readEvents(answer.body)
  let tell = (): void => {}
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      tell = () => controller.enqueue(encoder.encode(messageEvent(writeMessage(LIST_CHANGED))))
      streams.add(tell)
    },
    async pull(controller) {
      try {
        const { done, value } = await events.next()
        if (done) {
          streams.delete(tell)
          return controller.close()
        }
        if (value.data?.includes(LIST_CHANGED.method)) governor.listChanged()
        controller.enqueue(encoder.encode(value.raw))
      } catch (error) {
        streams.delete(tell)
        controller.error(error)
      }
    },
    async cancel() {
      streams.delete(tell)
      await events.return(undefined)
    },
  })
  return new Response(body, { status: answer.status, headers: answer.headers })
}
