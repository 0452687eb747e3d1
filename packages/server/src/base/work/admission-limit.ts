import { createFairQueue, type Waiting } from './fair-queue.js'

export interface AdmissionLimit {
  /** Runs `fn` when a slot is free and the tenant is below its share; throws what `timedOut` makes after `waitMs`. */
  run<T>(tenantId: string, fn: () => Promise<T>): Promise<T>
  load(): { active: number; waiting: number }
}

interface Waiter extends Waiting {
  readonly enter: () => void
}

export interface AdmissionOptions {
  slots: number
  perTenant: number
  waitMs: number
  /** What is thrown when no slot came free in time. */
  timedOut: (waitMs: number) => Error
}

/**
 * Bounds how many of something, such as connections, are in use at once, and how many of them one tenant may hold. Tenants
 * take turns: one with hundreds of waiting requests is one among the others.
 */
export function createAdmissionLimit(limits: AdmissionOptions): AdmissionLimit {
  const held = new Map<string, number>()
  const waiters = createFairQueue<Waiter>({ what: 'requests', perOwner: Infinity, inAll: Infinity })
  let active = 0

  const heldBy = (tenantId: string) => held.get(tenantId) ?? 0
  const mayEnter = (tenantId: string) => active < limits.slots && heldBy(tenantId) < limits.perTenant

  const take = (tenantId: string) => {
    active += 1
    held.set(tenantId, heldBy(tenantId) + 1)
  }

  const release = (tenantId: string) => {
    active -= 1
    const left = heldBy(tenantId) - 1
    if (left === 0) held.delete(tenantId)
    else held.set(tenantId, left)
    // A tenant at its share does not hold up the others.
    waiters.next(({ owner }) => mayEnter(owner))?.enter()
  }

  const wait = (tenantId: string) =>
    new Promise<void>((resolve, reject) => {
      const waiter: Waiter = {
        owner: tenantId,
        refuse: null,
        enter: () => {
          clearTimeout(timer)
          take(tenantId)
          resolve()
        },
      }
      const timer = setTimeout(() => {
        waiters.remove(waiter)
        reject(limits.timedOut(limits.waitMs))
      }, limits.waitMs)
      waiters.add(waiter)
    })

  return {
    run: async (tenantId, fn) => {
      if (mayEnter(tenantId)) take(tenantId)
      else await wait(tenantId)
      try {
        return await fn()
      } finally {
        release(tenantId)
      }
    },
    load: () => ({ active, waiting: waiters.size() }),
  }
}
