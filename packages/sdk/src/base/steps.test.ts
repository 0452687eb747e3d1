import { describe, expect, test } from 'vitest'
import { runSteps, runToPromise, type Steps, wait } from './steps.js'

function* sum(a: number | Promise<number>, b: number | Promise<number>): Steps<number> {
  return (yield* wait(a)) + (yield* wait(b))
}

function* orMinusOne(value: Promise<number>): Steps<number> {
  try {
    return yield* wait(value)
  } catch {
    return -1
  }
}

function* failing(after: Promise<void> | undefined): Steps<never> {
  yield* wait(after)
  throw new Error('no')
}

describe('steps', () => {
  test('that wait for nothing have their result at once', () => {
    expect(runSteps(sum(1, 2))).toBe(3)
  })

  test('that wait for a promise give a promise', async () => {
    const result = runSteps(sum(1, Promise.resolve(2)))
    expect(result).toBeInstanceOf(Promise)
    expect(await result).toBe(3)
  })

  test('can catch what a promise was rejected with, and go on', async () => {
    expect(await runSteps(orMinusOne(Promise.reject(new Error('no'))))).toBe(-1)
  })

  test('that throw at once throw, or reject where a promise was asked for', async () => {
    expect(() => runSteps(failing(undefined))).toThrow('no')
    await expect(runToPromise(failing(undefined))).rejects.toThrow('no')
  })

  test('that throw after they waited reject', async () => {
    await expect(runSteps(failing(Promise.resolve()))).rejects.toThrow('no')
  })
})
