import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isoTime } from './iso-time.js'

test('writes every time as toISOString does', () => {
  fc.assert(
    fc.property(fc.date({ noInvalidDate: true }), fc.integer({ min: 0, max: 200_000 }), (time, later) => {
      const other = new Date(Math.min(time.getTime() + later, 8.64e15))
      for (const each of [time, other, time]) expect(isoTime(each)).toBe(each.toISOString())
    }),
    { numRuns: 500 },
  )
})

test.each([
  '1969-12-31T23:59:59.999Z',
  '2026-01-01T00:00:00.000Z',
  '2026-12-31T23:59:59.099Z',
  '2028-02-29T12:00:01.010Z',
])('writes %s', (text) => expect(isoTime(new Date(text))).toBe(text))

test('a time that is none fails, as it does there', () => {
  expect(() => isoTime(new Date(Number.NaN))).toThrow(RangeError)
})
