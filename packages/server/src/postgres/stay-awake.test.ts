import { expect, test } from 'vitest'
import { createStayAwake } from './stay-awake.js'

/** A loop whose turns and time are made by hand. */
function loop() {
  let nowMs = 0
  const turns: (() => void)[] = []
  const stayAwake = createStayAwake(() => nowMs, ((look: () => void) =>
    turns.push(look)) as unknown as typeof setImmediate)
  const turn = (ms: number) => {
    nowMs += ms
    turns.shift()?.()
  }
  /** A statement that takes so long, and how often the loop turned meanwhile. */
  const run = async (ms: number) => {
    let settle = () => {}
    const work = stayAwake.while(new Promise<void>((done) => (settle = done)))
    let turned = 0
    for (let passed = 0; passed < ms; passed += 0.1) {
      if (turns.length > 0) turned += 1
      turn(0.1)
    }
    settle()
    await work
    while (turns.length > 0) turn(0)
    return turned
  }
  return { stayAwake, turns, run }
}

test('the loop turns while a short statement is under way, and then sleeps', async () => {
  const { run, turns } = loop()
  expect(await run(0.3)).toBe(3)
  expect(turns).toEqual([])
})

test('half a millisecond at most', async () => {
  const { run } = loop()
  expect(await run(10)).toBeLessThanOrEqual(6)
})

test('not at all while answers take longer, and again when they have become short', async () => {
  const { run } = loop()
  for (let slow = 0; slow < 5; slow++) await run(5)
  expect(await run(5)).toBe(0)
  for (let quick = 0; quick < 60; quick++) await run(0.1)
  expect(await run(0.3)).toBe(3)
})

test('not for many at once: then there is other work', async () => {
  const { stayAwake, turns } = loop()
  const settles: (() => void)[] = []
  const work = Array.from({ length: 3 }, () => stayAwake.while(new Promise<void>((done) => settles.push(done))))
  turns.shift()?.()
  expect(turns).toEqual([])
  for (const settle of settles) settle()
  await Promise.all(work)
})

test('what fails, fails as it did', async () => {
  await expect(createStayAwake().while(Promise.reject(new Error('no')))).rejects.toThrow('no')
})
