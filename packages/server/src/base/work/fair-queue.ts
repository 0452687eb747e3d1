import { ApiError } from '../api-error.js'

export interface FairQueueOptions {
  /** What waits, for the person who is refused: "plans and drafts of this tenant". */
  readonly what: string
  /** How many that may still be refused wait for one owner, and in all. What was accepted for good counts for neither. */
  readonly perOwner: number
  readonly inAll: number
  /** How much each owner used lately: the one that used least comes next. Without it owners take turns. */
  readonly usedMs?: (owner: string) => number
}

/** Work that waits. */
export interface Waiting {
  readonly owner: string
  /** Ends it before it is done. Null where it was accepted for good. */
  readonly refuse: ((error: ApiError) => void) | null
}

/**
 * Work that waits, in turn between its owners and in order within one: an owner with a hundred works waits for a hundred,
 * one with a single work for one of each other owner, or for none where used time counts (decision 0010). The owner is a
 * tenant, or the network of a stranger.
 */
export interface FairQueue<Item extends Waiting> {
  /** Makes sure that one more may wait. Throws 429 when its owner has too many, 503 when there are too many in all. */
  requireRoom(owner: string): void
  /** Behind the owner's other works. */
  add(item: Item): void
  /** In front of the owner's other works: it has begun already. */
  putBack(item: Item): void
  /** Takes the oldest work of the owner whose turn it is, among those whose oldest work `mayGo`. */
  next(mayGo?: (item: Item) => boolean): Item | null
  /** Takes a work out that waits no longer. */
  remove(item: Item): void
  size(): number
}

const RETRY_AFTER = { 'retry-after': '5' }

export function createFairQueue<Item extends Waiting>(options: FairQueueOptions): FairQueue<Item> {
  /** In the order of their turns: an owner that was served goes to the end. */
  const lines = new Map<string, Item[]>()
  let size = 0
  let refusable = 0
  const refusableOf = new Map<string, number>()

  const count = ({ owner, refuse }: Item, by: 1 | -1) => {
    size += by
    if (refuse === null) return
    refusable += by
    const left = (refusableOf.get(owner) ?? 0) + by
    if (left === 0) refusableOf.delete(owner)
    else refusableOf.set(owner, left)
  }

  /** A full queue takes a place from the owner with most of them, so that no owner keeps the others out. */
  const displaceFor = (owner: string): boolean => {
    let [longest, most] = ['', 0]
    for (const [other, waiting] of refusableOf) if (waiting > most) [longest, most] = [other, waiting]
    if (most <= (refusableOf.get(owner) ?? 0) + 1) return false
    const newest = lines.get(longest)?.findLast(({ refuse }) => refuse !== null)
    if (newest === undefined) return false
    remove(newest)
    newest.refuse?.(busy())
    return true
  }

  const busy = () => {
    const detail = 'too many requests of this kind are waiting, of all tenants together; try again in a few seconds'
    return new ApiError('BUSY', { detail }, RETRY_AFTER)
  }

  const lineFor = (item: Item): Item[] => {
    const line = lines.get(item.owner) ?? []
    lines.set(item.owner, line)
    count(item, 1)
    return line
  }

  const remove = (item: Item) => {
    const line = lines.get(item.owner) ?? []
    const at = line.indexOf(item)
    if (at === -1) return
    line.splice(at, 1)
    count(item, -1)
    if (line.length === 0) lines.delete(item.owner)
  }

  const whoseTurn = (mayGo?: (item: Item) => boolean): string | undefined => {
    let turn: string | undefined
    let least = Infinity
    for (const [owner, line] of lines) {
      const oldest = line[0]
      if (mayGo !== undefined && oldest !== undefined && !mayGo(oldest)) continue
      if (options.usedMs === undefined) return owner
      const used = options.usedMs(owner)
      if (used < least) [turn, least] = [owner, used]
    }
    return turn
  }

  return {
    requireRoom: (owner) => {
      if ((refusableOf.get(owner) ?? 0) >= options.perOwner) {
        const detail = `${options.perOwner} ${options.what} are waiting already; send the next one when they are answered`
        throw new ApiError('RATE_LIMITED', { detail }, RETRY_AFTER)
      }
      if (refusable >= options.inAll && !displaceFor(owner)) throw busy()
    },
    add: (item) => {
      lineFor(item).push(item)
    },
    putBack: (item) => {
      lineFor(item).unshift(item)
    },
    next: (mayGo) => {
      const owner = whoseTurn(mayGo)
      const line = owner === undefined ? undefined : lines.get(owner)
      if (owner === undefined || line === undefined) return null
      const item = line.shift()
      lines.delete(owner)
      if (line.length > 0) lines.set(owner, line)
      if (item === undefined) return null
      count(item, -1)
      return item
    },
    remove,
    size: () => size,
  }
}
