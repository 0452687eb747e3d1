import { LIMITS } from '@countersign/protocol'

/** Stops an activity for a while after several failures in a row. */
export interface CircuitBreaker {
  /** False while the activity is stopped. */
  allows(): boolean
  succeeded(): void
  /** True when this failure was the one that stopped the activity. */
  failed(): boolean
}

export function createCircuitBreaker({
  failures = LIMITS.breakerFailures as number,
  openMs = LIMITS.breakerMinutes * 60_000,
  now = Date.now,
} = {}): CircuitBreaker {
  let inARow = 0
  let openUntil = 0
  return {
    allows: () => now() >= openUntil,
    succeeded: () => {
      inARow = 0
    },
    failed: () => {
      inARow += 1
      if (inARow < failures) return false
      inARow = 0
      openUntil = now() + openMs
      return true
    },
  }
}
