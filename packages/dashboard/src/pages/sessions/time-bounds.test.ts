import { expect, test } from 'vitest'
import { timeBounds } from './time-bounds.js'

const now = Date.parse('2026-03-04T05:06:07.890Z')

test('a span starts on a whole minute and asks the same for a minute', () => {
  expect(timeBounds({ since: '1h' }, now)).toEqual({ from: '2026-03-04T04:06:00.000Z' })
  expect(timeBounds({ since: '1h' }, now + 50_000)).toEqual({ from: '2026-03-04T04:06:00.000Z' })
})

test('own bounds are taken, and nonsense bounds nothing', () => {
  expect(timeBounds({ from: '2026-01-01T00:00:00Z', to: 'yesterday' }, now)).toEqual({
    from: '2026-01-01T00:00:00.000Z',
  })
  expect(timeBounds({ since: 'forever' }, now)).toEqual({})
})
