import type { Query } from '@tanstack/react-query'
import { ApiProblem } from './api.js'

/** A page says that it is live, so while nothing changes it still looks this often. */
const QUIET_MS = 10_000
const SLOWEST = 8
const seen = new WeakMap<object, { data: unknown; updates: number; quiet: number }>()

/**
 * The delay before the next poll: doubled after every two polls without changes, up to ten seconds, and after every
 * failure, up to eight times the base; a change resets it. The query library does not poll hidden pages.
 */
export function pollEvery<T, E>(baseMs: number, query: Query<T, E>): number {
  const { data, dataUpdateCount, errorUpdateCount, error } = query.state
  const updates = dataUpdateCount + errorUpdateCount
  const before = seen.get(query) ?? { data, updates, quiet: 0 }
  if (before.updates !== updates) {
    // Equal replies keep their identity (structural sharing), so a new identity means a change.
    before.quiet = before.data === data ? before.quiet + (error === null ? 0.5 : 1) : 0
    before.data = data
    before.updates = updates
  }
  seen.set(query, before)
  const slowed = baseMs * Math.min(SLOWEST, 2 ** Math.floor(before.quiet))
  const wait = error === null ? Math.min(slowed, Math.max(baseMs, QUIET_MS)) : slowed
  const asked = error instanceof ApiProblem ? (error.retryAfterSeconds ?? 0) * 1_000 : 0
  return Math.max(wait, asked)
}
