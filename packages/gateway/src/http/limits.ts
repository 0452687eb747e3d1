import { GatewayProblem } from '../base/problems.js'

/** Bounds what the requests in flight hold together. */
export interface Limits {
  /** For one request: it counts from the first byte of its body that is held until it leaves. */
  admit(): Admitted
}

export interface Admitted {
  /** Takes memory for its body. Throws where there are as many requests, or bytes, in flight as there may be. */
  hold(bytes: number): void
  /** The request is answered, or its client has left. */
  leave(): void
}

const MOST_REQUESTS = 256
const MOST_BYTES = 64 * 1024 * 1024

/** A body that is alone may be larger: each has a bound of its own. */
export function createLimits(mostRequests = MOST_REQUESTS, mostBytes = MOST_BYTES): Limits {
  let requests = 0
  let held = 0
  return {
    admit() {
      let own: number | null = null
      let isOver = false
      return {
        hold(bytes) {
          const others = held - (own ?? 0)
          if (isOver || (own === null && requests >= mostRequests)) throw busy()
          if (others > 0 && held + bytes > mostBytes) throw busy()
          if (own === null) requests += 1
          own = (own ?? 0) + bytes
          held += bytes
        },
        leave() {
          if (isOver) return
          isOver = true
          if (own === null) return
          requests -= 1
          held -= own
        },
      }
    },
  }
}

const busy = () =>
  new GatewayProblem(
    'busy',
    `the gateway has as many requests in flight as it may (${MOST_REQUESTS}, with ${MOST_BYTES / 1024 / 1024} MB of ` +
      'bodies): send fewer at a time, and try again soon',
  )
