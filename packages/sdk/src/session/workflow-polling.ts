import { errorOf } from '../authority/refusals.js'
import { ServiceRefusal } from '../authority/transport.js'
import { ReplayConfigError } from '../base/errors.js'

/** A second: a few waiting programs fit into the smallest quota of reads. */
export const POLL_MS = 1_000

export interface Patience {
  readonly timeoutMs: number
  readonly pollMs: number
  readonly signal?: AbortSignal
}

/** Looks again and again until something is found. Null when the time is up. */
export async function pollUntil<T>(
  look: () => Promise<T | null>,
  { timeoutMs, pollMs, signal }: Patience,
): Promise<T | null> {
  // Anything else would look without a pause and without an end.
  if (!(timeoutMs >= 0) || !(pollMs > 0)) {
    throw new ReplayConfigError('timeoutMs and pollMs must be numbers of milliseconds', null)
  }
  const deadline = performance.now() + timeoutMs
  for (;;) {
    signal?.throwIfAborted()
    const found = await look()
    if (found !== null) return found
    const leftMs = deadline - performance.now()
    if (leftMs <= 0) return null
    await sleep(Math.min(pollMs, leftMs), signal)
  }
}

/** The error that the program sees for a refusal by the service. */
export function translated(error: unknown): never {
  throw error instanceof ServiceRefusal ? errorOf(error) : error
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    signal?.addEventListener('abort', done)
  })
}
