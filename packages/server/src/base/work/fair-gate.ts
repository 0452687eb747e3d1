import { createFairQueue, type FairQueueOptions, type Waiting } from './fair-queue.js'
import { createUsedTime } from './used-time.js'

export interface FairGate {
  /** Does an owner's work when it is its turn. Throws 429 or 503 when too many wait, unless it was accepted already. */
  run<Result>(owner: string, work: () => Promise<Result>, isOwed?: boolean): Promise<Result>
}

interface Waiter extends Waiting {
  readonly begin: () => void
}

export interface FairGateOptions extends Omit<FairQueueOptions, 'usedMs'> {
  /** How many may be under way, in all and of one owner. */
  readonly atOnce: number
  readonly atOnceOfOwner?: number
}

/** Lets few works be under way at once, because each holds memory. Of those who wait, who used least comes next. */
export function createFairGate({ atOnce, atOnceOfOwner = atOnce, ...options }: FairGateOptions): FairGate {
  const used = createUsedTime()
  const queue = createFairQueue<Waiter>({ ...options, usedMs: used.of })
  /** The owner of each work that is under way. */
  const underWay: string[] = []
  const mayEnter = ({ owner }: Pick<Waiter, 'owner'>): boolean =>
    underWay.length < atOnce && underWay.filter((other) => other === owner).length < atOnceOfOwner
  const enter = (owner: string, isOwed: boolean): Promise<void> => {
    if (mayEnter({ owner })) {
      underWay.push(owner)
      return Promise.resolve()
    }
    if (!isOwed) queue.requireRoom(owner)
    return new Promise((begin, refuse) => queue.add({ owner, begin, refuse: isOwed ? null : refuse }))
  }
  /** Whoever waits takes the place over. */
  const leave = (owner: string) => {
    underWay.splice(underWay.indexOf(owner), 1)
    const next = queue.next(mayEnter)
    if (next === null) return
    underWay.push(next.owner)
    next.begin()
  }
  return {
    run: async (owner, work, isOwed = false) => {
      await enter(owner, isOwed)
      const end = used.begin(owner)
      try {
        return await work()
      } finally {
        end()
        leave(owner)
      }
    },
  }
}
