import type { IncomingMessage, RequestListener } from 'node:http'
import { createFairQueue, type Waiting } from '../base/work/fair-queue.js'

/** Works of some microseconds to a millisecond, in turn between those they are done for. */
export interface Turns {
  take(turn: Turn): void
}

export interface Turn {
  /** Asked where it has to wait. */
  readonly owner: () => string
  readonly begin: () => void
  /** Nobody waits for it any more, and nothing has been done. */
  readonly isGone?: () => boolean
}

/** Some milliseconds of work, with what their replies from the database bring. */
const AT_ONCE = 16

/** So many in one turn of the event loop, at once where few come. */
export function createTurns(): Turns {
  const waiting = createFairQueue<Waiting & Pick<Turn, 'begin' | 'isGone'>>({
    what: 'requests',
    perOwner: Infinity,
    inAll: Infinity,
  })
  let begun = 0

  const nextTurn = () => {
    begun = 0
    for (let next = waiting.next(); next !== null; next = waiting.next()) {
      if (next.isGone?.()) continue
      begin(next.begin)
      if (begun === AT_ONCE) return
    }
  }

  const begin = (run: () => void) => {
    if (begun === 0) setImmediate(nextTurn)
    begun += 1
    run()
  }

  return {
    take: ({ owner, ...turn }) => {
      if (begun < AT_ONCE && waiting.size() === 0) begin(turn.begin)
      else waiting.add({ owner: owner(), refuse: null, ...turn })
    },
  }
}

/**
 * Begins requests in turn between those who sent them. Whoever has hundreds of connections would otherwise have hundreds
 * of requests begun before the next one of anybody else, and at every step of it.
 */
export const beginInTurn =
  (app: RequestListener, senderOf: (incoming: IncomingMessage) => string, turns = createTurns()): RequestListener =>
  (incoming, outgoing) =>
    turns.take({
      owner: () => senderOf(incoming),
      begin: () => app(incoming, outgoing),
      isGone: () => incoming.socket.destroyed,
    })
