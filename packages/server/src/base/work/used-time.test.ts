import { expect, test } from 'vitest'
import { createUsedTime } from './used-time.js'

let nowMs = 0
const open = () => {
  nowMs = 0
  return createUsedTime(() => nowMs)
}

test('what an owner uses counts while it is under way, and of each work', () => {
  const used = open()
  const ends = [used.begin('a'), used.begin('a')]
  nowMs = 100
  expect([used.of('a'), used.of('b')]).toEqual([200, 0])
  ends[0]?.()
  nowMs = 150
  expect(used.of('a')).toBeGreaterThan(249)
})

test('half of what was used is forgotten in half a minute', () => {
  const used = open()
  const end = used.begin('a')
  nowMs = 8_000
  end()
  nowMs += 30_000
  expect(used.of('a')).toBeCloseTo(4_000)
  nowMs += 60_000
  expect(used.of('a')).toBeCloseTo(1_000)
})

test('owners that used almost nothing are forgotten when there are many, and the others are not', () => {
  const used = open()
  const end = used.begin('busy')
  nowMs = 500
  end()
  for (let owner = 0; owner < 5_000; owner++) used.begin(`o${owner}`)()
  expect(used.of('busy')).toBeCloseTo(500)
})
