import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTurnQueue } from './turn-queue.js'

const isLetIn = async (turnBefore: Promise<void> | null, withinMs: number): Promise<boolean> =>
  Promise.race([turnBefore?.then(() => true) ?? true, wait(withinMs, false)])

test('a turn that nobody ends holds the next one up for a while only', async () => {
  const queue = createTurnQueue({ timeoutMs: 10 })
  queue.enter()
  expect(await isLetIn(queue.enter().turnBefore, 2_000)).toBe(true)
})

test('a turn whose answer is judged holds the next one up until it is over: its calls wait for a person', async () => {
  const queue = createTurnQueue({ timeoutMs: 10 })
  const first = queue.enter()
  const { turnBefore } = queue.enter()
  first.stay()
  expect(await isLetIn(turnBefore, 50)).toBe(false)
  first.leave()
  expect(await isLetIn(turnBefore, 2_000)).toBe(true)
})

test('a turn that waits long for an unread stream is reported, and one that waits for a person is not', async () => {
  let reported = 0
  const options = { longWaitMs: 5, onLongWait: () => reported++ }
  const unread = createTurnQueue(options)
  unread.enter()
  void unread.enter()
  await expect.poll(() => reported).toBe(1)
  unread.release()
  const judged = createTurnQueue(options)
  judged.enter().stay()
  void judged.enter()
  await wait(30)
  judged.release()
  expect(reported).toBe(1)
})

test('nobody waits when the session has ended', async () => {
  const queue = createTurnQueue()
  queue.enter()
  const { turnBefore } = queue.enter()
  queue.release()
  expect(await isLetIn(turnBefore, 2_000)).toBe(true)
  expect(queue.enter().turnBefore).toBe(null)
})
