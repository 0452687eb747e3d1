import { expect, test } from 'vitest'
import { createHolders } from './holders.js'

test('the oldest item of whoever holds most, as items come, go and change their holder', () => {
  const holders = createHolders<string>()
  expect(holders.ofLargest()).toBeNull()
  for (const item of ['a1', 'b1', 'b2', 'a2', 'b3']) holders.add(item, item.slice(0, 1))
  expect(holders.ofLargest()).toEqual({ oldest: 'b1', held: 3 })
  holders.add('b1', 'b')
  expect(holders.ofLargest()).toEqual({ oldest: 'b2', held: 3 })
  holders.remove('b2')
  holders.add('b3', 'a')
  expect(holders.ofLargest()).toEqual({ oldest: 'a1', held: 3 })
  for (const item of ['a1', 'a2', 'b3', 'b3', 'never']) holders.remove(item)
  expect(holders.ofLargest()).toEqual({ oldest: 'b1', held: 1 })
  holders.remove('b1')
  expect(holders.ofLargest()).toBeNull()
})

test('it agrees with counting', () => {
  const holders = createHolders<number>()
  const held = new Map<number, string>()
  let seed = 1
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  for (let step = 0; step < 5_000; step++) {
    const item = random(40)
    held.delete(item)
    if (random(3) === 0) holders.remove(item)
    else {
      const holder = `h${random(6)}`
      held.set(item, holder)
      holders.add(item, holder)
    }
    const counts = new Map<string, number>()
    for (const holder of held.values()) counts.set(holder, (counts.get(holder) ?? 0) + 1)
    const largest = holders.ofLargest()
    expect(largest?.held ?? 0).toBe(Math.max(0, ...counts.values()))
    if (largest === null) continue
    const holder = held.get(largest.oldest)
    expect([...held].find(([, other]) => other === holder && counts.get(other) === largest.held)?.[0]).toBe(
      largest.oldest,
    )
  }
})
