import { expect, test } from 'vitest'
import type { Sql } from './sql.js'
import { createWarmConnections } from './warm-connections.js'

function opened(size: number) {
  let made = 0
  const ended: number[] = []
  const connections = createWarmConnections(size, () => {
    const number = made++
    return { number, end: async () => void ended.push(number) } as unknown as Sql
  })
  const use = (work: () => Promise<void> = async () => {}) =>
    connections.use(async (sql) => {
      await work()
      return (sql as unknown as { number: number }).number
    })
  return { connections, use, ended }
}

test('one thing after the other is done by one connection', async () => {
  const { use } = opened(3)
  expect(new Set([await use(), await use(), await use()]).size).toBe(1)
})

test('things at the same time have a connection each, and the one that came back last is next', async () => {
  const { use } = opened(3)
  const finish: (() => void)[] = []
  const waiting = () => use(() => new Promise((done) => finish.push(done)))
  const [first, second] = [waiting(), waiting()]
  finish[1]?.()
  const used = await second
  expect(await use()).toBe(used)
  finish[0]?.()
  expect(await first).not.toBe(used)
  expect(await use()).toBe(await first)
})

test('one that broke is ended and made anew', async () => {
  const { use, connections, ended } = opened(1)
  const gone = Object.assign(new Error('gone'), { code: 'CONNECTION_CLOSED' })
  await expect(use(() => Promise.reject(gone))).rejects.toThrow('gone')
  expect(ended).toEqual([0])
  expect(await use()).toBe(1)
  await connections.end(1)
  expect(ended).toEqual([0, 1])
})

test('a connection whose work failed comes back', async () => {
  const { use, connections, ended } = opened(1)
  await expect(use(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await use()).toBe(0)
  await expect(use(async () => void (await use()))).rejects.toThrow('more work than connections')
  await connections.end(1)
  expect(ended).toEqual([0])
})
