import { describe, expect, test } from 'vitest'
import { createPasses, type Passes } from './prepaid-tokens.js'

const KEY = Buffer.alloc(32, 1)
const NOW = new Date('2026-01-01T00:00:00.000Z')
const HOLDER = { tenantId: 'tnt_a', keyId: 'key_a', userId: null, quota: 'scale' as const }

/** A bucket that grants all that is wanted, as long as it lasts. */
function bucketOf(passes: Passes, capacity: number) {
  let tokens = capacity
  return {
    tokens: () => tokens,
    /** One request: by a pass, or recognised. Returns how many tokens were wanted, 0 for a pass. */
    request: (key = KEY): number => {
      if (passes.find(key, 'write') !== null) return 0
      const { wanted, returned, deliver } = passes.order(key, 'write')
      tokens += returned
      const granted = tokens >= wanted ? wanted : 1
      tokens -= granted
      deliver({ holder: HOLDER, perMinute: capacity, granted, tokens, now: NOW })
      return wanted
    },
  }
}

/** What comes of an order, in a bucket of ten thousand a minute unless said. */
const delivery = (granted: number, tokens = 0, perMinute = 10_000) => {
  return { holder: HOLDER, perMinute, granted, tokens, now: NOW }
}

/** The passes of a key that has made so many requests. */
function busy(requests: number, elapsedMs: () => number = () => 0, capacity = 10_000): Passes {
  const passes = createPasses(elapsedMs)
  const { request } = bucketOf(passes, capacity)
  for (let made = 0; made < requests; made++) request()
  return passes
}

describe('requests paid for in advance', () => {
  test('a busy key takes twice as many as it needed, up to a hundredth of the bucket', () => {
    const passes = createPasses(() => 0)
    const { request } = bucketOf(passes, 1_000)
    expect(Array.from({ length: 41 }, () => request())).toEqual([
      ...[1],
      ...[2, 0],
      ...[4, 0, 0, 0],
      ...[8, ...Array(7).fill(0)],
      ...[10, ...Array(9).fill(0)],
      ...[10, ...Array(9).fill(0)],
      ...[10, ...Array(5).fill(0)],
    ])
  })

  test('a small bucket is counted request by request', () => {
    const { request, tokens } = bucketOf(
      createPasses(() => 0),
      199,
    )
    for (let made = 1; made <= 50; made++) {
      expect(request()).toBe(1)
      expect(tokens()).toBe(199 - made)
    }
  })

  test('a second later the key is recognised anew, and what was not needed goes back', () => {
    let elapsedMs = 0
    const { request, tokens } = bucketOf(
      createPasses(() => elapsedMs),
      1_000,
    )
    for (let made = 0; made < 8; made++) request()
    expect(tokens()).toBe(1_000 - 15)
    elapsedMs = 1_001
    expect(request()).toBe(2)
    expect(tokens()).toBe(1_000 - 10)
    elapsedMs = 60_000
    expect(request()).toBe(1)
    expect(tokens()).toBe(1_000 - 10)
  })

  test('says the time of the database, and what is left', () => {
    let elapsedMs = 0
    const passes = createPasses(() => elapsedMs)
    const { request } = bucketOf(passes, 1_000)
    for (let made = 0; made < 4; made++) request()
    elapsedMs = 250
    const pass = passes.find(KEY, 'write')
    expect(pass).toMatchObject({ holder: HOLDER, tokens: 1_000 - 5, now: new Date(NOW.getTime() + 250) })
    pass?.giveBack()
    expect(passes.find(KEY, 'write')?.tokens).toBe(1_000 - 5)
  })

  test('of another key or bucket are not there', () => {
    const passes = createPasses(() => 0)
    const { request } = bucketOf(passes, 1_000)
    for (let made = 0; made < 4; made++) request()
    expect(passes.find(Buffer.alloc(32, 2), 'write')).toBeNull()
    expect(passes.find(KEY, 'evidence')).toBeNull()
    expect(passes.find(KEY, 'write')).not.toBeNull()
  })

  test('only one of several requests at once orders more than its own', () => {
    const passes = createPasses(() => 0)
    const { request } = bucketOf(passes, 1_000)
    for (let made = 0; made < 7; made++) request()
    const orders = [1, 2, 3].map(() => passes.order(KEY, 'write').wanted)
    expect(orders).toEqual([8, 1, 1])
  })

  test('are renewed for a busy key before they end, and those that are left stay good meanwhile', () => {
    let elapsedMs = 0
    const passes = busy(63, () => elapsedMs)
    const first = passes.order(KEY, 'write')
    expect(first.wanted).toBe(64)
    first.deliver(delivery(64, 9_000))
    const found = (times: number) => Array.from({ length: times }, () => passes.find(KEY, 'write')?.isDue)
    expect(found(47)).toEqual(Array(47).fill(false))
    // A quarter is left: the next is told to see to it, and nobody else.
    expect(found(3)).toEqual([true, false, false])
    const renewal = passes.renewal(KEY, 'write')
    expect(renewal).toMatchObject({ wanted: 100 - 13, returned: 0 })
    expect(found(1)).toEqual([false])
    renewal.deliver(delivery(87, 8_913))
    expect(found(20)).toEqual(Array(20).fill(false))
    elapsedMs = 501
    expect(found(2)).toEqual([true, false])
    passes.renewal(KEY, 'write').deliver(null)
    expect(found(78)).toEqual([...Array(77).fill(false), undefined])
  })

  test('that were renewed and then not needed let the next request take its own', () => {
    let elapsedMs = 0
    const passes = busy(15, () => elapsedMs)
    passes.renewal(KEY, 'write').deliver(delivery(16))
    elapsedMs = 1_500
    expect(passes.find(KEY, 'write')).toBeNull()
    expect(passes.order(KEY, 'write')).toMatchObject({ wanted: 1, returned: 16 })
  })

  test('that come back after a renewal are there for the next request', () => {
    const passes = busy(13)
    const pass = passes.find(KEY, 'write')
    const renewal = passes.renewal(KEY, 'write')
    renewal.deliver(delivery(2))
    // One was left.
    pass?.giveBack()
    expect(passes.order(KEY, 'write')).toMatchObject({ wanted: 1, returned: 1 + 2 + 1 })
  })

  test('that a renewal paid for stay when the order that it crossed got nothing', () => {
    const passes = busy(15)
    const renewal = passes.renewal(KEY, 'write')
    const order = passes.order(KEY, 'write')
    renewal.deliver(delivery(16))
    order.deliver(null)
    expect(passes.find(KEY, 'write')?.tokens).toBe(15)
  })

  test('are no more than a hundredth of the bucket, also where orders and renewals cross', () => {
    const passes = busy(51, () => 0, 2_000)
    const crossing = [passes.renewal(KEY, 'write'), passes.order(KEY, 'write')]
    expect(crossing.map(({ wanted }) => wanted)).toEqual([20, 1])
    for (const { wanted, deliver } of crossing) {
      deliver(delivery(wanted, 0, 2_000))
    }
    for (let made = 0; made < 20; made++) expect(passes.find(KEY, 'write')).not.toBeNull()
    expect(passes.find(KEY, 'write')).toBeNull()
    expect(passes.order(KEY, 'write')).toMatchObject({ wanted: 20, returned: 0 })
  })

  test('under one quota are none under the next', () => {
    const passes = busy(63)
    const order = passes.order(KEY, 'write')
    order.deliver(delivery(64, 9_000))
    const pass = passes.find(KEY, 'write')
    const free = { ...delivery(1, 29, 30), holder: { ...HOLDER, quota: 'free' as const } }
    passes.renewal(KEY, 'write').deliver(free)
    pass?.giveBack()
    expect(passes.find(KEY, 'write')?.tokens).toBe(29)
    expect(passes.find(KEY, 'write')).toBeNull()
  })

  test('lose nothing when an order and a renewal cross', () => {
    const passes = busy(15)
    const renewal = passes.renewal(KEY, 'write')
    const order = passes.order(KEY, 'write')
    renewal.deliver(delivery(16))
    order.deliver(delivery(16))
    for (let made = 0; made < 31; made++) expect(passes.find(KEY, 'write')).not.toBeNull()
    expect(passes.find(KEY, 'write')).toBeNull()
  })

  test('go with a key that was refused, and with one used too long ago', () => {
    const passes = createPasses(() => 0, 2)
    const { request } = bucketOf(passes, 1_000)
    for (let made = 0; made < 4; made++) request()
    passes.order(KEY, 'write').deliver(null)
    expect(passes.find(KEY, 'write')).toBeNull()
    for (const key of [1, 2, 3]) for (let made = 0; made < 4; made++) request(Buffer.alloc(32, key))
    expect([1, 2, 3].map((key) => passes.find(Buffer.alloc(32, key), 'write') !== null)).toEqual([false, true, true])
  })
})
