import { readFileSync } from 'node:fs'

const THREAD_TIME = '/proc/thread-self/schedstat'

/** Nanoseconds, or 0 where the system does not say. */
function saidBySystem(): number {
  try {
    return Number(readFileSync(THREAD_TIME, 'latin1').split(' ')[0]) || 0
  } catch {
    return 0
  }
}

/** Some kernels have the file, and write zeros into it. */
const isKnown = saidBySystem() > 0
let last = 0

/**
 * How long this thread has had a processor, in milliseconds. Where others keep the processors busy, the clock tells
 * little about it. Linux says it for each thread; elsewhere the clock has to do.
 */
export function processorMs(): number {
  if (!isKnown) return performance.now()
  // A reading that failed adds nothing.
  last = Math.max(last, saidBySystem() / 1e6)
  return last
}

/** To ask takes a hundredth of a millisecond: a step that is shorter than this is timed by the clock. */
const SHORT_MS = 20

let asked = { atMs: Number.NEGATIVE_INFINITY, processorMs: 0 }

/** Does a step of work, and says how long it had a processor. A long one may count up to 20 ms too much. */
export function timeStep<Result>(step: () => Result, took: (ms: number) => void): Result {
  const begunMs = performance.now()
  if (begunMs - asked.atMs > SHORT_MS) asked = { atMs: begunMs, processorMs: processorMs() }
  try {
    return step()
  } finally {
    const ms = performance.now() - begunMs
    took(ms < SHORT_MS ? ms : Math.min(ms, processorMs() - asked.processorMs))
  }
}
