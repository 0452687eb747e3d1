import type { Steps } from '@countersign/engine'
import { ApiError } from '../api-error.js'
import { timeStep } from './processor-time.js'

/**
 * How long the work of a tenant blocked the thread in long steps, while everybody waited. What a step takes is counted
 * before it is taken, as far as anybody knows; this bounds what nobody has counted (decision 0171).
 */
export interface HeldThread {
  /** Counts a step if it was long. */
  note(owner: string, ms: number): void
  /** Throws 429 while an owner has had more than its share: so much more, where it is given. */
  requireShare(owner: string, allowedMs?: number): void
  /** How many owners are remembered. */
  owners(): number
  /** Hears of each long step. */
  onLongStep(listener: (owner: string, ms: number) => void): void
}

/** Shorter steps are nobody's fault: they may be the collection of garbage. */
const LONG_STEP_MS = 100
/** Allowed at any time, before the first refusal. */
const FREE_MS = 500
/** Of the thread, for the long steps of one owner: a tenant, or the network of a stranger. */
const SHARE = 0.05
/** Above this many, owners without a debt are forgotten. */
const MOST_OWNERS = 1_000

interface Held {
  /** What was over its share at `atMs`. */
  ms: number
  atMs: number
}

export function createHeldThread(now: () => number = () => performance.now()): HeldThread {
  const owners = new Map<string, Held>()
  let listener: (owner: string, ms: number) => void = () => {}

  const heldBy = (owner: string): number => {
    const held = owners.get(owner)
    return held === undefined ? 0 : Math.max(0, held.ms - (now() - held.atMs) * SHARE)
  }

  const forgetSettled = () => {
    for (const owner of owners.keys()) if (heldBy(owner) === 0) owners.delete(owner)
  }

  return {
    note: (owner, ms) => {
      if (ms < LONG_STEP_MS) return
      if (owners.size >= MOST_OWNERS) forgetSettled()
      owners.set(owner, { ms: heldBy(owner) + ms, atMs: now() })
      listener(owner, ms)
    },
    requireShare: (owner, allowedMs = FREE_MS) => {
      // Most never had a long step.
      if (owners.size === 0 || heldBy(owner) <= allowedMs) return
      const waitSeconds = Math.ceil((heldBy(owner) - FREE_MS) / SHARE / 1_000)
      const detail =
        `requests of this tenant held up other tenants; try again in ${waitSeconds} seconds, and simplify ` +
        'the rules and policies of its plans or shorten what it sends'
      throw new ApiError('RATE_LIMITED', { detail }, { 'retry-after': String(waitSeconds) })
    },
    owners: () => owners.size,
    onLongStep: (heard) => {
      listener = heard
    },
  }
}

/** A process has one thread. */
export const heldThread = createHeldThread()

/** Takes one step of somebody's work on the main thread. */
export const takeStep = <Result>(owner: string, steps: Steps<Result>): IteratorResult<void, Result> =>
  timeStep(
    () => steps.next(),
    (ms) => heldThread.note(owner, ms),
  )
