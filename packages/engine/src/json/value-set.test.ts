import { expect, test } from 'vitest'
import { collidingNumbers } from '../../../../test/support/hostile/colliding-numbers.js'
import { proves } from '../../../../test/support/proves.js'
import { valueSet } from './value-set.js'

test('values are found by equality as JSON, and a number is no text', () => {
  const set = valueSet([0, 1, 0.1, 1e300, '2', 'n3', true, null, [1, { a: 2 }]])
  for (const value of [0, -0, 1, 0.1, 1e300, '2', 'n3', true, null, [1, { a: 2 }]]) expect(set.has(value)).toBe(true)
  for (const value of [2, 3, '0', '1', '0.1', 'n1', false, [1], { a: 2 }]) expect(set.has(value)).toBe(false)
})

const SIZE = 8_000

/** How long a set of these takes, and a look at the first of them as often. Of three, as the shortest is the truest. */
function msFor(numbers: readonly number[]): number {
  const first = numbers[0] as number
  return Math.min(
    ...[1, 2, 3].map(() => {
      const before = process.cpuUsage()
      const set = valueSet(numbers)
      for (let at = 0; at < SIZE; at++) set.has(first)
      return process.cpuUsage(before).user / 1e3
    }),
  )
}

proves('limit.judging.colliding-numbers', 'a set of numbers that collide takes as long as one of others', () => {
  const others = Array.from({ length: SIZE }, (_, at) => at * 31 + 7)
  // As numbers in a set: 30 to 60 times as long.
  expect(msFor(collidingNumbers(SIZE))).toBeLessThan(8 * msFor(others) + 20)
})
