/** How long the work of each owner took lately. What was longer ago counts less: half of it every half minute. */
export interface UsedTime {
  /** Counts from now on, until the returned function is called. */
  begin(owner: string): () => void
  /** In milliseconds, with what is under way. */
  of(owner: string): number
}

const HALF_LIFE_MS = 30_000

/** Above so many owners those that have used almost nothing are forgotten. */
const MOST_OWNERS = 1_000
const ALMOST_NOTHING_MS = 1

interface Used {
  /** What was used by `atMs`. */
  ms: number
  atMs: number
  /** How many works are under way. */
  underWay: number
}

export function createUsedTime(now: () => number = () => performance.now()): UsedTime {
  const owners = new Map<string, Used>()

  const usedBy = ({ ms, atMs, underWay }: Used): number => {
    const passedMs = now() - atMs
    return ms * 0.5 ** (passedMs / HALF_LIFE_MS) + passedMs * underWay
  }

  const count = (used: Used, change: 1 | -1) => {
    used.ms = usedBy(used)
    used.atMs = now()
    used.underWay += change
  }

  const forgetIdle = () => {
    for (const [owner, used] of owners)
      if (used.underWay === 0 && usedBy(used) < ALMOST_NOTHING_MS) owners.delete(owner)
  }

  const entryOf = (owner: string): Used => {
    const known = owners.get(owner)
    if (known !== undefined) return known
    if (owners.size >= MOST_OWNERS) forgetIdle()
    const used = { ms: 0, atMs: now(), underWay: 0 }
    owners.set(owner, used)
    return used
  }

  return {
    begin: (owner) => {
      const used = entryOf(owner)
      count(used, 1)
      return () => count(used, -1)
    },
    of: (owner) => {
      const used = owners.get(owner)
      return used === undefined ? 0 : usedBy(used)
    },
  }
}
