import { expect, test } from 'vitest'
import { createFairQueue, type Waiting } from './fair-queue.js'

interface Named extends Waiting {
  readonly name: string
}

function open(perOwner: number, inAll: number) {
  const queue = createFairQueue<Named>({ what: 'works', perOwner, inAll })
  const refused: string[] = []
  return {
    queue,
    refused,
    add: (owner: string, name: string) => {
      queue.requireRoom(owner)
      queue.add({ owner, name, refuse: ({ code }) => refused.push(`${name} ${code}`) })
    },
    drain: () => {
      const names: string[] = []
      for (let item = queue.next(); item !== null; item = queue.next()) names.push(item.name)
      return names
    },
  }
}

test('owners take turns, and each keeps its own order', () => {
  const { add, drain, queue } = open(8, 64)
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) add(name.slice(0, 1), name)
  expect(queue.size()).toBe(6)
  expect(drain()).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3'])
  expect(queue.size()).toBe(0)
})

test('what was put back goes on before the rest of its owner, but after the other owners', () => {
  const { add, drain, queue } = open(8, 64)
  for (const name of ['a1', 'a2', 'b1']) add(name.slice(0, 1), name)
  const begun = queue.next()
  if (begun !== null) queue.putBack(begun)
  expect(drain()).toEqual(['b1', 'a1', 'a2'])
})

test('where the time of works counts, whoever used least comes next, and of those who may go', () => {
  const used: Record<string, number> = { a: 300, b: 20, c: 20 }
  const queue = createFairQueue<Named>({ what: 'works', perOwner: 8, inAll: 64, usedMs: (owner) => used[owner] ?? 0 })
  for (const name of ['a1', 'a2', 'b1', 'b2', 'c1']) queue.add({ owner: name.slice(0, 1), name, refuse: null })
  const next = (mayGo?: (item: Named) => boolean) => queue.next(mayGo)?.name
  expect([next(), next()]).toEqual(['b1', 'c1'])
  used.b = 400
  expect(next(({ owner }) => owner === 'c')).toBeUndefined()
  expect(next(({ name }) => name !== 'a1')).toBe('b2')
  expect([next(), next(), next()]).toEqual(['a1', 'a2', undefined])
})

test('an owner with too many gets 429, which says what waits', () => {
  const { add } = open(2, 64)
  add('a', 'a1')
  add('a', 'a2')
  expect(() => add('a', 'a3')).toThrowError(
    expect.objectContaining({ code: 'RATE_LIMITED', headers: { 'retry-after': '5' } }),
  )
  add('b', 'b1')
})

test('a full queue takes the newest of whoever has most, and refuses only those who have as many', () => {
  const { add, drain, refused } = open(4, 4)
  for (const name of ['a1', 'a2', 'a3', 'a4']) add('a', name)
  add('b', 'b1')
  add('c', 'c1')
  expect(refused).toEqual(['a4 BUSY', 'a3 BUSY'])
  expect(() => add('b', 'b2')).toThrowError(expect.objectContaining({ code: 'BUSY' }))
  expect(drain()).toEqual(['a1', 'b1', 'c1', 'a2'])
})

test('what was accepted for good is never displaced, and takes the place of nobody else', () => {
  const { queue, add, refused, drain } = open(2, 3)
  for (let at = 1; at <= 5; at++) queue.add({ owner: 'a', name: `owed${at}`, refuse: null })
  for (const name of ['a1', 'a2', 'b1']) add(name.slice(0, 1), name)
  expect(() => add('a', 'a3')).toThrowError(expect.objectContaining({ code: 'RATE_LIMITED' }))
  // Its newest that may be refused makes room for c, wherever it stands.
  queue.add({ owner: 'a', name: 'owed6', refuse: null })
  add('c', 'c1')
  expect(refused).toEqual(['a2 BUSY'])
  expect(drain()).toEqual(['owed1', 'b1', 'c1', 'owed2', 'owed3', 'owed4', 'owed5', 'a1', 'owed6'])
})
