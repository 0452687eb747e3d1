import { setTimeout } from 'node:timers/promises'
import type { Steps } from '@countersign/engine'
import { createFairQueue, type Waiting } from './fair-queue.js'
import { takeStep } from './held-thread.js'

export interface Turns {
  /** Does an owner's work step by step, with other requests in between. Throws 429 or 503 before anything is done. */
  run<Result>(by: WorkOwner, steps: Steps<Result>): Promise<Done<Result>>
  /** How many works are not done yet. */
  waiting(): number
}

/** Whose work it is. */
export interface WorkOwner {
  readonly tenantId: string
  /** Accepted already, so that it is not refused: the next part of a request, the plan of a session that exists. */
  readonly isOwed: boolean
  /** It already waited for the plan thread, so it is not refused here; otherwise it is treated as not owed. */
  readonly isBegun?: boolean
}

export interface Done<Result> {
  readonly value: Result
  /** How long the work had the thread. */
  readonly ms: number
}

export interface TurnsSettings {
  readonly sliceMs: number
  /** After a slice the thread belongs to others for so many times its length. */
  readonly restRatio: number
  readonly maxRestMs: number
  readonly perOwner: number
  readonly inAll: number
}

/** A third of the thread at most, in slices so short that a request in between hardly notices one. */
const SETTINGS: TurnsSettings = { sliceMs: 5, restRatio: 2, maxRestMs: 250, perOwner: 8, inAll: 64 }

interface Work extends Waiting {
  readonly tenantId: string
  readonly steps: Steps<unknown>
  readonly finish: (value: unknown) => void
  readonly fail: (error: unknown) => void
  ms: number
}

export function createTurns(settings: Partial<TurnsSettings> = {}): Turns {
  const { sliceMs, restRatio, maxRestMs, perOwner, inAll } = { ...SETTINGS, ...settings }
  const queue = createFairQueue<Work>({ what: 'plans, drafts and comparisons of this tenant', perOwner, inAll })
  let isAtWork = false

  /** Works for one slice; what is not done then goes on waiting. Returns how long it took. */
  const takeSlice = (work: Work): number => {
    const startedAt = performance.now()
    const elapsed = () => performance.now() - startedAt
    try {
      do {
        const step = takeStep(work.tenantId, work.steps)
        if (step.done !== true) continue
        work.ms += elapsed()
        work.finish(step.value)
        return elapsed()
      } while (elapsed() < sliceMs)
    } catch (error) {
      work.fail(error)
      return elapsed()
    }
    work.ms += elapsed()
    queue.putBack(work)
    return elapsed()
  }

  /** Until then the thread belongs to others. */
  let restsUntil = 0
  /** How long each owner had the thread since it was last free. */
  const usedMs = new Map<string, number>()
  /** The next works of an owner that had a slice wait, however short the line is. */
  const hadSlice = (owner: string) => (usedMs.get(owner) ?? 0) >= sliceMs

  const work = (next: Work) => {
    const tookMs = takeSlice(next)
    usedMs.set(next.owner, (usedMs.get(next.owner) ?? 0) + tookMs)
    const now = performance.now()
    restsUntil = Math.min(Math.max(restsUntil, now) + tookMs * restRatio, now + maxRestMs)
  }

  const restMs = () => Math.max(restsUntil - performance.now(), 0)

  const goOn = async () => {
    isAtWork = true
    while (queue.size() > 0 || restMs() > 0) {
      await setTimeout(restMs())
      const next = queue.next()
      if (next !== null) work(next)
    }
    usedMs.clear()
    isAtWork = false
  }

  /** Works start at once until their owner had a slice: most requests need less for all of theirs. */
  const begin = (begun: Work) => {
    if (hadSlice(begun.owner)) queue.add(begun)
    else work(begun)
    if (!isAtWork) void goOn()
  }

  return {
    run: async ({ tenantId, isOwed, isBegun = false }, steps) => {
      // What was accepted has a line of its own: a tenant's sessions do not wait behind the plans that it uploads.
      const owner = isOwed ? `${tenantId} accepted` : tenantId
      const isRefusable = !isOwed && !isBegun
      if (isRefusable) queue.requireRoom(owner)
      return new Promise((resolve, reject) => {
        const finish = (value: unknown) => resolve({ value: value as never, ms: work.ms })
        const work: Work = { owner, tenantId, steps, ms: 0, finish, fail: reject, refuse: isRefusable ? reject : null }
        begin(work)
      })
    },
    waiting: queue.size,
  }
}

/** A process has one thread, so all of its long works share one queue. */
export const turns = createTurns()

/** For work that cannot be divided: it waits for its turn and is done in one step. */
export function* asOneStep<Result>(work: () => Result): Steps<Result> {
  yield
  return work()
}
