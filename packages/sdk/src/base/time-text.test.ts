import fc from 'fast-check'
import { expect, test } from 'vitest'
import { timeText } from './time-text.js'

test('a time is written as toISOString writes it', () => {
  const times = fc.array(fc.date({ noInvalidDate: true }), { maxLength: 5 })
  const later = fc.array(fc.nat(120_000), { maxLength: 5 })
  fc.assert(
    fc.property(times, later, (dates, steps) => {
      for (const date of dates) {
        for (const step of [0, ...steps]) {
          const at = new Date(Math.min(date.getTime() + step, 8.64e15))
          expect(timeText(at.getTime())).toBe(at.toISOString())
        }
      }
    }),
  )
})
