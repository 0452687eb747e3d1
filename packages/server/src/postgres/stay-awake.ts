/**
 * Keeps the event loop turning while a short statement is under way. A process that sleeps takes about as long to be
 * woken as PostgreSQL takes to write; one that looks again and again has the answer at once.
 *
 * Only where that helps: for a few statements at a time (with more there is other work), for half a millisecond each,
 * and not where answers have lately taken longer than that, as from a database on another machine.
 */
export interface StayAwake {
  while<T>(work: Promise<T>): Promise<T>
}

const LONGEST_MS = 0.5
const MOST_AT_ONCE = 2
/** How much the newest answer counts in what is expected of the next. */
const NEWEST_COUNTS = 1 / 16

export function createStayAwake(now: () => number = () => performance.now(), turn = setImmediate): StayAwake {
  let underWay = 0
  let expectedMs = 0
  let untilMs = 0
  let isAwake = false

  const look = () => {
    isAwake = underWay > 0 && underWay <= MOST_AT_ONCE && now() < untilMs
    if (isAwake) turn(look)
  }

  return {
    while: async (work) => {
      const startedMs = now()
      underWay += 1
      if (underWay <= MOST_AT_ONCE && expectedMs <= LONGEST_MS) {
        untilMs = startedMs + LONGEST_MS
        if (!isAwake) {
          isAwake = true
          turn(look)
        }
      }
      try {
        return await work
      } finally {
        underWay -= 1
        expectedMs += (now() - startedMs - expectedMs) * NEWEST_COUNTS
      }
    },
  }
}
