import { expect, test } from 'vitest'
import { secureRandom } from './secrets.js'

test('no random byte is given twice, whatever sizes are asked for', () => {
  const random = secureRandom()
  const given = Array.from({ length: 600 }, (_, at) => random([16, 24, 32, 4_096, 5_000][at % 5] ?? 16))
  expect(given.map(({ length }) => length).slice(0, 5)).toEqual([16, 24, 32, 4_096, 5_000])
  const starts = given.map((bytes) => bytes.toString('hex', 0, 16))
  expect(new Set(starts).size).toBe(given.length)
  for (const bytes of given) bytes.fill(0)
  expect(random(16).equals(Buffer.alloc(16))).toBe(false)
})
