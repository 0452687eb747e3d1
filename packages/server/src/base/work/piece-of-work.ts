/** What every kind of work in the background shares: each piece is claimed, counted before it is tried, and given up. */

/** Background work takes a share of the pool like a tenant does, so that it never crowds out requests. */
export const JOBS_SHARE = 'jobs'

/** A piece that was begun so often without success is not tried again. */
export const MAX_ATTEMPTS = 3

/** Claims last a minute. */
const RENEW_EVERY_MS = 20_000

/** Renews a claim while the work goes on. A renewal that fails is tried again: the write checks the claim anyway. */
export async function whileRenewing<T>(renew: () => Promise<void>, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => void renew().catch(() => {}), RENEW_EVERY_MS)
  timer.unref()
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
