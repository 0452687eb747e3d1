import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import type { Context } from './context.js'
import { largeReplies, largeStates, leavePlaces } from './places.js'
import { inPieces } from './work.js'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const contextOf = (tenantId: string) => ({ request: {}, tenant: { tenantId } }) as unknown as Context

/** Which of the requests have a place by now. */
async function enteredOf(contexts: readonly Context[], places = largeReplies): Promise<() => Promise<number[]>> {
  const entered = new Set<number>()
  for (const [at, ctx] of contexts.entries())
    places.take(ctx).then(
      () => entered.add(at),
      () => {},
    )
  return async () => {
    await setImmediate()
    return [...entered].sort((a, b) => a - b)
  }
}

proves(
  'limit.fair.large-replies',
  'a tenant has one large reply under way, and another does not wait for it',
  async () => {
    const ours = Array.from({ length: 4 }, () => contextOf('ours'))
    const theirs = contextOf('theirs')
    const entered = await enteredOf([...ours, theirs])
    expect(await entered()).toEqual([0, 4])
    leavePlaces(ours[0]!.request)
    expect(await entered()).toEqual([0, 1, 4])
    for (const { request } of [...ours, theirs]) leavePlaces(request)
    expect(await entered()).toEqual([0, 1, 2, 3, 4])
  },
)

proves('limit.fair.large-replies', 'after a reply of several megabytes the place rests', async () => {
  const ours = Array.from({ length: 3 }, () => contextOf('ours'))
  const entered = await enteredOf(ours)
  expect(await entered()).toEqual([0])
  leavePlaces(ours[0]!.request, 1_000_000)
  expect(await entered()).toEqual([0, 1])
  leavePlaces(ours[1]!.request, 5_000_000)
  await setImmediate()
  vi.advanceTimersByTime(190)
  expect(await entered()).toEqual([0, 1])
  vi.advanceTimersByTime(20)
  expect(await entered()).toEqual([0, 1, 2])
  leavePlaces(ours[2]!.request)
  await setImmediate()
})

proves('limit.fair.large-replies', 'all tenants together have six', async () => {
  const contexts = Array.from({ length: 8 }, (_, at) => contextOf(`tenant ${at}`))
  const entered = await enteredOf(contexts)
  expect(await entered()).toEqual([0, 1, 2, 3, 4, 5])
  for (const { request } of contexts) leavePlaces(request)
  expect(await entered()).toHaveLength(8)
})

proves('limit.fair.large-replies', 'states have places of their own, one for a tenant', async () => {
  const replies = [contextOf('ours')]
  const states = [contextOf('ours'), contextOf('ours')]
  await enteredOf(replies)
  const entered = await enteredOf(states, largeStates)
  expect(await entered()).toEqual([0])
  for (const { request } of [...replies, ...states]) leavePlaces(request)
  expect(await entered()).toEqual([0, 1])
})

test('a request that asks twice has one place, and one that waits for ten seconds is told so and keeps none', async () => {
  const [first, late, next] = [contextOf('ours'), contextOf('ours'), contextOf('ours')]
  await Promise.all([largeStates.take(first), largeStates.take(first)])
  const refused = expect(largeStates.take(late)).rejects.toMatchObject({ code: 'BUSY' })
  await vi.advanceTimersByTimeAsync(10_000)
  await refused
  leavePlaces(late.request)
  leavePlaces(first.request)
  await largeStates.take(next)
  leavePlaces(next.request)
})

proves(
  'limit.fair.under-a-lock',
  'one piece is done in a turn of the event loop, however many decisions wait',
  async () => {
    let turn = 0
    let isOver = false
    const count = async () => {
      while (!isOver) {
        await setImmediate()
        turn += 1
      }
    }
    const counting = count()
    const turns: number[] = []
    function* slow() {
      for (let piece = 0; piece < 3; piece++) {
        const endMs = performance.now() + 6
        while (performance.now() < endMs);
        if (piece > 0) turns.push(turn)
        yield
      }
    }
    await Promise.all(Array.from({ length: 5 }, () => inPieces('tnt_1', slow())))
    isOver = true
    await counting
    expect(turns).toHaveLength(10)
    expect(new Set(turns).size).toBe(10)
  },
)
