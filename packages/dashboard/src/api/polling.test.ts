import type { Query } from '@tanstack/react-query'
import { expect, test } from 'vitest'
import { ApiProblem } from './api.js'
import { pollEvery } from './polling.js'

type State = Pick<Query['state'], 'data' | 'dataUpdateCount' | 'errorUpdateCount' | 'error'>

/** A query whose state the test moves on, as the library would. */
function queryWith(first: unknown) {
  const state: State = { data: first, dataUpdateCount: 1, errorUpdateCount: 0, error: null }
  const query = { state } as unknown as Query<unknown, unknown>
  return {
    wait: (baseMs = 1_000) => pollEvery(baseMs, query),
    answered: (data: unknown) =>
      Object.assign(state, { data, error: null, dataUpdateCount: state.dataUpdateCount + 1 }),
    failed: (error: ApiProblem) => Object.assign(state, { error, errorUpdateCount: state.errorUpdateCount + 1 }),
  }
}

test('the wait grows while nothing changes, up to ten seconds, and news set it back', () => {
  const same = { value: 1 }
  const query = queryWith(same)
  const waits = [query.wait()]
  for (let i = 0; i < 10; i += 1) {
    query.answered(same)
    waits.push(query.wait())
  }
  // A page that says it is live never waits longer, also one that begins with five seconds.
  expect([query.wait(5_000), query.wait(10_000), query.wait(30_000)]).toEqual([10_000, 10_000, 30_000])
  expect(waits[0]).toBe(1_000)
  expect(waits).toEqual([...waits].sort((a, b) => a - b))
  expect(waits.at(-1)).toBe(8_000)
  query.answered({ value: 2 })
  expect(query.wait()).toBe(1_000)
})

test('asking for the wait twice does not lengthen it; failures do, and Retry-After is respected', () => {
  const query = queryWith('a')
  expect([query.wait(), query.wait(), query.wait()]).toEqual([1_000, 1_000, 1_000])
  query.failed(new ApiProblem({ status: 503, code: 'UNAVAILABLE', title: 'away' }))
  expect(query.wait()).toBe(2_000)
  query.failed(new ApiProblem({ status: 429, code: 'RATE_LIMITED', title: 'wait', retryAfterSeconds: 30 }))
  expect(query.wait()).toBe(30_000)
})
