import { ApiError } from '../api-error.js'

export interface FairQueueOptions {
  /** What waits, for the person who is refused: "plans and drafts of this tenant". */
  readonly what: string
  /** How many may wait for one owner, and in all. */
  readonly perOwner: number
  readonly inAll: number
  /** How much each owner used lately: whoever used least comes next. Without it owners take turns. */
  readonly usedMs?: (owner: string) => number
}

/** Work that waits. */
export interface Waiting {
  readonly owner: string
  /** Ends it before it is done. Null where it was accepted for good. */
  readonly refuse: ((error: ApiError) => void) | null
}

/**
 * Work that waits, in turn between its owners and in order within one: whoever brings a hundred works waits for a
 * hundred, and whoever brings one waits for one of each other owner (decision 0019), or for none where the time that
 * works took counts (decision 0169). The owner is a tenant, or the network of a stranger.
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
  waiting(owner: string): number
  size(): number
}

const RETRY_AFTER = { 'retry-after': '5' }

export function createFairQueue<Item extends Waiting>(options: FairQueueOptions): FairQueue<Item> {
  /** In the order of their turns: an owner that was served goes to the end. */
  const lines = new Map<string, Item[]>()
  let size = 0

  const waiting = (owner: string) => lines.get(owner)?.length ?? 0

  /** A full queue takes a place from whoever has most of them, so that no owner keeps the others out. */
  const displaceFor = (owner: string): boolean => {
    let longest: Item[] = []
    for (const line of lines.values()) if (line.length > longest.length && line.at(-1)?.refuse) longest = line
    if (longest.length <= waiting(owner) + 1) return false
    size -= 1
    longest.pop()?.refuse?.(busy())
    return true
  }

  const busy = () => new ApiError('BUSY', { detail: `too many ${options.what} are waiting` }, RETRY_AFTER)

  const lineOf = (owner: string): Item[] => {
    const line = lines.get(owner) ?? []
    lines.set(owner, line)
    size += 1
    return line
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
      if (waiting(owner) >= options.perOwner) {
        const detail = `${options.perOwner} ${options.what} are waiting already; send the next one when they are answered`
        throw new ApiError('RATE_LIMITED', { detail }, RETRY_AFTER)
      }
      if (size >= options.inAll && !displaceFor(owner)) throw busy()
    },
    add: (item) => {
      lineOf(item.owner).push(item)
    },
    putBack: (item) => {
      lineOf(item.owner).unshift(item)
    },
    next: (mayGo) => {
      const owner = whoseTurn(mayGo)
      const line = owner === undefined ? undefined : lines.get(owner)
      if (owner === undefined || line === undefined) return null
      const item = line.shift()
      lines.delete(owner)
      if (line.length > 0) lines.set(owner, line)
      if (item === undefined) return null
      size -= 1
      return item
    },
    remove: (item) => {
      const line = lines.get(item.owner) ?? []
      const at = line.indexOf(item)
      if (at === -1) return
      line.splice(at, 1)
      size -= 1
      if (line.length === 0) lines.delete(item.owner)
    },
    waiting,
    size: () => size,
  }
}
