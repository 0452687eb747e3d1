/** Bytes that work in flight may hold: what cannot be forgotten is not begun. */
export interface Budget {
  /** False beyond the bound or the owner's share: nothing is taken then. */
  take(owner: string, bytes: number): boolean
  /** Waits for its turn. False when that did not come in time: nothing is taken then. */
  takeInTurn(owner: string, bytes: number, waitMs: number): boolean | Promise<boolean>
  /** What was taken, as it was taken. */
  release(owner: string, bytes: number): void
  bytes(): number
}

export interface BudgetOptions {
  readonly boundBytes: number
  /** The part that one owner may hold. */
  readonly share: number
}

interface Waiter {
  readonly owner: string
  readonly bytes: number
  readonly enter: () => void
}

/**
 * Who holds nothing may always take one piece while there is room, however large: a piece above the share goes alone,
 * one above the bound alone of all. Waiting is in order, but an owner at its share holds up nobody else.
 */
export function createBudget({ boundBytes, share }: BudgetOptions): Budget {
  const held = new Map<string, number>()
  const waiters: Waiter[] = []
  const shareBytes = boundBytes * share
  let total = 0

  const fitsShare = (owner: string, bytes: number) => {
    const own = held.get(owner) ?? 0
    return own === 0 || own + bytes <= shareBytes
  }
  const fitsBound = (bytes: number) => total === 0 || total + bytes <= boundBytes

  const add = (owner: string, bytes: number) => {
    total += bytes
    held.set(owner, (held.get(owner) ?? 0) + bytes)
  }

  const admitWaiters = () => {
    for (let at = 0; at < waiters.length; ) {
      const waiter = waiters[at] as Waiter
      if (!fitsShare(waiter.owner, waiter.bytes)) {
        at += 1
        continue
      }
      // Nobody overtakes: a large piece would wait for ever behind small ones.
      if (!fitsBound(waiter.bytes)) return
      waiters.splice(at, 1)
      add(waiter.owner, waiter.bytes)
      waiter.enter()
    }
  }

  const wait = (owner: string, bytes: number, waitMs: number) =>
    new Promise<boolean>((done) => {
      const waiter = { owner, bytes, enter: () => leave(true) }
      const leave = (entered: boolean) => {
        clearTimeout(timer)
        done(entered)
      }
      const timer = setTimeout(() => {
        waiters.splice(waiters.indexOf(waiter), 1)
        leave(false)
        admitWaiters()
      }, waitMs)
      waiters.push(waiter)
    })

  const isNext = (owner: string, bytes: number) =>
    fitsShare(owner, bytes) && fitsBound(bytes) && !waiters.some((waiter) => fitsShare(waiter.owner, waiter.bytes))

  return {
    take: (owner, bytes) => {
      if (!fitsShare(owner, bytes) || !fitsBound(bytes)) return false
      add(owner, bytes)
      return true
    },
    takeInTurn: (owner, bytes, waitMs) => {
      if (!isNext(owner, bytes)) return wait(owner, bytes, waitMs)
      add(owner, bytes)
      return true
    },
    release: (owner, bytes) => {
      total -= bytes
      const left = (held.get(owner) ?? 0) - bytes
      if (left > 0) held.set(owner, left)
      else held.delete(owner)
      admitWaiters()
    },
    bytes: () => total,
  }
}
