import { ApiError } from '../base/api-error.js'

/**
 * What decisions of a tenant took of the thread in long steps, for which everybody waits. What a step takes is counted
 * before it is taken, as far as anybody knows; this bounds what nobody has counted (decision 0171).
 */
export interface HeldThread {
  note(tenantId: string, ms: number): void
  /** Throws 429 while a tenant has had more than its share. */
  requireShare(tenantId: string): void
}

/** Shorter steps are nobody's fault: they may be the collection of garbage. */
export const LONG_STEP_MS = 100
/** So much is let pass at any time. */
const FREE_MS = 500
/** Of the thread, for the long steps of one tenant. */
const SHARE = 0.05
/** Above so many tenants those are forgotten that owe nothing. */
const MOST_TENANTS = 1_000

interface Held {
  /** What was over its share at `atMs`. */
  ms: number
  atMs: number
}

export function createHeldThread(now: () => number = () => performance.now()): HeldThread {
  const tenants = new Map<string, Held>()

  const heldBy = (tenantId: string): number => {
    const held = tenants.get(tenantId)
    return held === undefined ? 0 : Math.max(0, held.ms - (now() - held.atMs) * SHARE)
  }

  const forgetSettled = () => {
    for (const tenantId of tenants.keys()) if (heldBy(tenantId) === 0) tenants.delete(tenantId)
  }

  return {
    note: (tenantId, ms) => {
      if (ms < LONG_STEP_MS) return
      if (tenants.size >= MOST_TENANTS) forgetSettled()
      tenants.set(tenantId, { ms: heldBy(tenantId) + ms, atMs: now() })
    },
    requireShare: (tenantId) => {
      // Most never had a long step.
      if (tenants.size === 0) return
      const overMs = heldBy(tenantId) - FREE_MS
      if (overMs <= 0) return
      const waitSeconds = Math.ceil(overMs / SHARE / 1_000)
      const detail =
        'to judge calls of this tenant took so long that others had to wait; ' +
        `the next are judged in ${waitSeconds} seconds; make the rules and policies of its plans cheaper, or the arguments shorter`
      throw new ApiError('RATE_LIMITED', { detail }, { 'retry-after': String(waitSeconds) })
    },
  }
}

/** A process has one thread. */
export const heldThread = createHeldThread()
