import type { IncomingMessage, RequestListener } from 'node:http'
import { createFairQueue, type Waiting } from '../base/work/fair-queue.js'

interface Request extends Waiting {
  readonly begin: () => void
  /** Nobody waits for the reply any more, and nothing has been done. */
  readonly isGone: () => boolean
}

/** Some milliseconds of work, with what their replies from the database bring. */
const AT_ONCE = 16

/**
 * Begins so many requests in one turn of the event loop, in turn between those who sent them. Whoever has hundreds of
 * connections would otherwise have hundreds of requests begun before the next one of anybody else, and at every step of it.
 */
export function beginInTurn(app: RequestListener, senderOf: (incoming: IncomingMessage) => string): RequestListener {
  const waiting = createFairQueue<Request>({ what: 'requests', perOwner: Infinity, inAll: Infinity })
  let begun = 0

  const nextTurn = () => {
    begun = 0
    for (let next = waiting.next(); next !== null; next = waiting.next()) {
      if (next.isGone()) continue
      begin(next.begin)
      if (begun === AT_ONCE) return
    }
  }

  const begin = (run: () => void) => {
    if (begun === 0) setImmediate(nextTurn)
    begun += 1
    run()
  }

  return (incoming, outgoing) => {
    const run = () => app(incoming, outgoing)
    if (begun < AT_ONCE && waiting.size() === 0) begin(run)
    else waiting.add({ owner: senderOf(incoming), refuse: null, begin: run, isGone: () => incoming.socket.destroyed })
  }
}
