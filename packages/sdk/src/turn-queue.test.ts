import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTurnQueue } from './turn-queue.js'

const isLetIn = async (turnBefore: Promise<void> | null, withinMs: number): Promise<boolean> =>
  Promise.race([turnBefore?.then(() => true) ?? true, wait(withinMs, false)])

test('a turn that nobody ends holds the next one up for a while only', async () => {
  const queue = createTurnQueue(10)
  queue.enter()
  expect(await isLetIn(queue.enter().turnBefore, 2_000)).toBe(true)
})

test('a turn whose answer is judged holds the next one up until it is over: its calls wait for a person', async () => {
  const queue = createTurnQueue(10)
  const first = queue.enter()
  const { turnBefore } = queue.enter()
  first.stay()
  expect(await isLetIn(turnBefore, 50)).toBe(false)
  first.leave()
  expect(await isLetIn(turnBefore, 2_000)).toBe(true)
})
