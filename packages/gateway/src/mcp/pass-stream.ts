import { messageEvent } from './event-stream.js'
import type { GovernedServer } from './governed-server.js'
import type { UpstreamAnswer } from './http-upstream.js'
import { writeMessage } from './message.js'
import { LIST_CHANGED, passedEvents } from './passed-answer.js'

/** A stream of a server that answers no request. Between two events the host hears of a changed list. */
export function passStream(answer: UpstreamAnswer, server: GovernedServer): Response {
  let stop = (): void => {}
  const body = passedEvents(
    answer,
    { id: null, server, change: null },
    {
      start(say) {
        stop = server.onListChanged(() => say(messageEvent(writeMessage(LIST_CHANGED))))
      },
      end: () => stop(),
    },
  )
  return new Response(body, { status: answer.status, headers: answer.headers })
}
