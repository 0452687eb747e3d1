import { createFairQueue, type FairQueueOptions, type Waiting } from './fair-queue.js'
import { createUsedTime } from './used-time.js'

export interface FairGate {
  /** Does an owner's work when it is its turn. Throws 429 or 503 when too many wait, unless it was accepted already. */
  run<Result>(owner: string, work: () => Promise<Result>, isOwed?: boolean): Promise<Result>
}

interface Waiter extends Waiting {
  readonly begin: () => void
}

/** Lets few works be under way at once, because each holds memory. Of those who wait, who used least comes next. */
export function createFairGate({ atOnce, ...options }: FairQueueOptions & { readonly atOnce: number }): FairGate {
  const used = createUsedTime()
  const queue = createFairQueue<Waiter>({ ...options, usedMs: used.of })
  let underWay = 0
  const enter = (owner: string, isOwed: boolean): Promise<void> => {
    if (underWay < atOnce) {
      underWay += 1
      return Promise.resolve()
    }
    if (!isOwed) queue.requireRoom(owner)
    return new Promise((begin, refuse) => queue.add({ owner, begin, refuse: isOwed ? null : refuse }))
  }
  /** Whoever waits takes the place over. */
  const leave = () => {
    const next = queue.next()
    if (next === null) underWay -= 1
    else next.begin()
  }
  return {
    run: async (owner, work, isOwed = false) => {
      await enter(owner, isOwed)
      const end = used.begin(owner)
      try {
        return await work()
      } finally {
        end()
        leave()
      }
    },
  }
}
