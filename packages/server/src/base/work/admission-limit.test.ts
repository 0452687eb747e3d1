import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { proves } from '../../../../../test/support/proves.js'
import { createAdmissionLimit } from './admission-limit.js'

function open(slots: number, perTenant: number, waitMs = 60_000) {
  const limit = createAdmissionLimit({ slots, perTenant, waitMs, timedOut: () => new Error('too long') })
  const order: string[] = []
  const leave = new Map<string, () => void>()
  const enter = (name: string) =>
    limit.run(name.slice(0, 1), () => {
      order.push(name)
      return new Promise<void>((done) => leave.set(name, done))
    })
  const next = async () => {
    leave.get(order.at(-1) ?? '')?.()
    await setImmediate()
  }
  return { limit, order, enter, leave, next }
}

proves('limit.fair.begin', 'whoever has hundreds waiting is one among the others', async () => {
  const { order, enter, next } = open(1, 1)
  for (let at = 0; at < 300; at++) void enter(`a${at}`)
  for (const name of ['b0', 'b1', 'c0']) void enter(name)
  for (let turn = 0; turn < 7; turn++) await next()
  expect(order).toEqual(['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'a3', 'a4'])
})

test('a tenant at its share holds up nobody, and goes on when it is below', async () => {
  const { order, enter, leave } = open(3, 2)
  for (const name of ['a0', 'a1', 'a2', 'b0', 'c0']) void enter(name)
  expect(order).toEqual(['a0', 'a1', 'b0'])
  leave.get('b0')?.()
  await setImmediate()
  expect(order.slice(3)).toEqual(['c0'])
  leave.get('a0')?.()
  await setImmediate()
  expect(order.slice(4)).toEqual(['a2'])
})

test('who waited too long is gone from the line', async () => {
  const { limit, order, enter, next } = open(1, 1, 20)
  void enter('a0')
  await expect(enter('b0')).rejects.toThrow('too long')
  expect(limit.load()).toEqual({ active: 1, waiting: 0 })
  void enter('c0')
  await next()
  expect(order).toEqual(['a0', 'c0'])
})
