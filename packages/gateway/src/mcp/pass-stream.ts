import { messageEvent } from './event-stream.js'
import type { UpstreamAnswer } from './http-upstream.js'
import type { GovernedServer } from './mcp-sessions.js'
import { writeMessage } from './message.js'
import { LIST_CHANGED, passedEvents } from './passed-answer.js'

/** A stream of a server that answers no request. Between two events the host hears of a changed list. */
export function passStream(answer: UpstreamAnswer, { governor, streams }: GovernedServer): Response {
  let tell = (): void => {}
  const body = passedEvents(
    answer,
    { id: null, governor, change: null },
    {
      start(say) {
        tell = () => say(messageEvent(writeMessage(LIST_CHANGED)))
        streams.add(tell)
      },
      end: () => void streams.delete(tell),
    },
  )
  return new Response(body, { status: answer.status, headers: answer.headers })
}
