/** Something of which there is only so much, such as memory for bodies. Clients have shares of it, and take turns. */
export interface Room {
  /** Waits for its turn. Null where that did not come in time, where too many wait, or where the signal was aborted. */
  enter(client: string, amount: number, signal: AbortSignal): Promise<Held | null>
}

/** What was taken of a room. */
export interface Held {
  /** Gives back what is above this amount. */
  lower(amount: number): void
  leave(): void
}

export interface RoomOptions {
  readonly bound: number
  /** How much one client may hold in several pieces. */
  readonly share: number
  readonly waitMs: number
  /** How many pieces may wait, of one client and of all. */
  readonly mostWaiting: { readonly ofClient: number; readonly ofAll: number }
}

interface Waiter {
  readonly amount: number
  readonly enter: () => void
}

/**
 * A client that holds nothing may take one piece, however large: a piece above the bound goes alone of all. Nobody
 * overtakes a piece that waits for room, but one that waits for its client's own share holds up nobody else.
 */
export function createRoom({ bound, share, waitMs, mostWaiting }: RoomOptions): Room {
  const held = new Map<string, number>()
  /** By client, those whose turn comes next first. */
  const waiting = new Map<string, Waiter[]>()
  let total = 0
  let waiters = 0

  const fitsShare = (client: string, amount: number) => {
    const own = held.get(client) ?? 0
    return own === 0 || own + amount <= share
  }
  const fitsBound = (amount: number) => total === 0 || total + amount <= bound

  const change = (client: string, by: number) => {
    total += by
    const now = (held.get(client) ?? 0) + by
    if (now > 0) held.set(client, now)
    else held.delete(client)
  }

  const holding = (client: string, amount: number): Held => {
    change(client, amount)
    let left = amount
    const lower = (to: number) => {
      if (to >= left) return
      change(client, to - left)
      left = to
      admitWaiting()
    }
    return { lower, leave: () => lower(0) }
  }

  const admitWaiting = () => {
    for (const [client, [next]] of [...waiting]) {
      if (next === undefined || !fitsShare(client, next.amount)) continue
      if (!fitsBound(next.amount)) return
      next.enter()
    }
  }

  const wait = (client: string, amount: number, signal: AbortSignal) =>
    new Promise<Held | null>((done) => {
      const leave = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', giveUp)
        const others = (waiting.get(client) ?? []).filter((other) => other !== waiter)
        // Whoever had a turn comes last.
        waiting.delete(client)
        if (others.length > 0) waiting.set(client, others)
        waiters -= 1
      }
      const giveUp = () => {
        leave()
        done(null)
        admitWaiting()
      }
      const waiter: Waiter = {
        amount,
        enter: () => {
          leave()
          done(holding(client, amount))
        },
      }
      const timer = setTimeout(giveUp, waitMs)
      signal.addEventListener('abort', giveUp)
      waiting.set(client, [...(waiting.get(client) ?? []), waiter])
      waiters += 1
    })

  const isNext = (client: string, amount: number) =>
    fitsShare(client, amount) &&
    fitsBound(amount) &&
    ![...waiting].some(([other, [next]]) => next !== undefined && (other === client || fitsShare(other, next.amount)))

  return {
    async enter(client, amount, signal) {
      if (signal.aborted) return null
      if (isNext(client, amount)) return holding(client, amount)
      const own = waiting.get(client)?.length ?? 0
      if (own >= mostWaiting.ofClient || waiters >= mostWaiting.ofAll) return null
      return wait(client, amount, signal)
    },
  }
}
