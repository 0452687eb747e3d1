import { expect, test } from 'vitest'
import { createHeldThread } from './held-thread.js'

function waitOf(held: ReturnType<typeof createHeldThread>, tenantId = 't'): number {
  try {
    held.requireShare(tenantId)
    return 0
  } catch (error) {
    return Number((error as { headers: Record<string, string> }).headers['retry-after'])
  }
}

test('half a second is free, and a twentieth of the time pays for what is over', () => {
  let now = 0
  const held = createHeldThread(() => now)
  held.note('t', 500)
  expect(waitOf(held)).toBe(0)
  held.note('t', 1_000)
  expect(waitOf(held)).toBe(20)
  expect(waitOf(held, 'another')).toBe(0)
  now += 10_000
  expect(waitOf(held)).toBe(10)
  now += 10_000
  expect(waitOf(held)).toBe(0)
  // The free part is paid for, too.
  held.note('t', 500)
  expect(waitOf(held)).toBe(10)
})

test('steps of less than 100 ms are not counted, however many there are', () => {
  const held = createHeldThread(() => 0)
  for (let step = 0; step < 100; step++) held.note('t', 99)
  expect(waitOf(held)).toBe(0)
})

test('whoever owes nothing any more is forgotten, and nobody else', () => {
  let now = 0
  const held = createHeldThread(() => now)
  for (let tenant = 0; tenant < 1_000; tenant++) held.note(`t${tenant}`, 100)
  held.note('long', 1_000)
  now += 5_000
  held.note('new', 100)
  expect(held.owners()).toBe(2)
  expect(waitOf(held, 'long')).toBe(5)
})

test('each long step is heard of, with who took it, and no short one', () => {
  const held = createHeldThread(() => 0)
  const heard: [string, number][] = []
  held.onLongStep((owner, ms) => heard.push([owner, ms]))
  for (const ms of [99, 100, 340]) held.note('t', ms)
  expect(heard).toEqual([
    ['t', 100],
    ['t', 340],
  ])
})
