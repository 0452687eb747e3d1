import type { Query } from '@tanstack/react-query'
import { ApiProblem } from './api.js'

const SLOWEST = 8
const seen = new WeakMap<object, { data: unknown; updates: number; quiet: number }>()

/**
 * The wait before the next reading: doubled after every two readings without news and after every failure, up to
 * eight times; a changed answer sets it back. The query library does not poll pages that nobody sees.
 */
export function pollEvery<T, E>(baseMs: number, query: Query<T, E>): number {
  const { data, dataUpdateCount, errorUpdateCount, error } = query.state
  const updates = dataUpdateCount + errorUpdateCount
  const before = seen.get(query) ?? { data, updates, quiet: 0 }
  if (before.updates !== updates) {
    // Equal answers keep their identity (structural sharing), so identity tells news.
    before.quiet = before.data === data ? before.quiet + (error === null ? 0.5 : 1) : 0
    before.data = data
    before.updates = updates
  }
  seen.set(query, before)
  const wait = baseMs * Math.min(SLOWEST, 2 ** Math.floor(before.quiet))
  const asked = error instanceof ApiProblem ? (error.retryAfterSeconds ?? 0) * 1_000 : 0
  return Math.max(wait, asked)
}
