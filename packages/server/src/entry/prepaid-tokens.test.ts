import { LRUCache } from 'lru-cache'
import { describe, expect, test } from 'vitest'
import { type Account, createPrepaidTokens, type PrepaidTokens } from './prepaid-tokens.js'

const KEY = Buffer.alloc(32, 1)
const NOW = new Date('2026-01-01T00:00:00.000Z')
const HOLDER = {
  tenantId: 'tnt_a',
  keyId: 'key_a',
  userId: null,
  quota: 'scale' as const,
  scope: { access: 'all' as const, agent: null, environment: null },
}

const memory = () => new LRUCache<string, Account>({ maxSize: 1e6 })

/** A bucket that grants all that is wanted, as long as it lasts. */
function bucketOf(prepaid: PrepaidTokens, capacity: number) {
  let tokens = capacity
  return {
    tokens: () => tokens,
    /** One request: by a token, or authenticated. Returns how many tokens were wanted, 0 for a token. */
    request: (key = KEY): number => {
      if (prepaid.find(key, 'write') !== null) return 0
      const { wanted, returned, complete } = prepaid.topUp(key, 'write')
      tokens += returned
      const granted = tokens >= wanted ? wanted : 1
      tokens -= granted
      complete({ holder: HOLDER, perMinute: capacity, granted, tokens, now: NOW })
      return wanted
    },
  }
}

/** What comes of an order, in a bucket of ten thousand a minute unless said. */
const grant = (granted: number, tokens = 0, perMinute = 10_000) => {
  return { holder: HOLDER, perMinute, granted, tokens, now: NOW }
}

/** The prepaid of a key that has made so many requests. */
function busy(requests: number, elapsedMs: () => number = () => 0, capacity = 10_000): PrepaidTokens {
  const prepaid = createPrepaidTokens(memory(), elapsedMs)
  const { request } = bucketOf(prepaid, capacity)
  for (let made = 0; made < requests; made++) request()
  return prepaid
}

describe('prepaid tokens', () => {
  test('a key in constant use takes twice as many as it needed, up to a hundredth of the bucket', () => {
    const prepaid = createPrepaidTokens(memory(), () => 0)
    const { request } = bucketOf(prepaid, 1_000)
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
      createPrepaidTokens(memory(), () => 0),
      199,
    )
    for (let made = 1; made <= 50; made++) {
      expect(request()).toBe(1)
      expect(tokens()).toBe(199 - made)
    }
  })

  test('a second later the key is authenticated anew, and what was not needed goes back', () => {
    let elapsedMs = 0
    const { request, tokens } = bucketOf(
      createPrepaidTokens(memory(), () => elapsedMs),
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
    const prepaid = createPrepaidTokens(memory(), () => elapsedMs)
    const { request } = bucketOf(prepaid, 1_000)
    for (let made = 0; made < 4; made++) request()
    elapsedMs = 250
    const token = prepaid.find(KEY, 'write')
    expect(token).toMatchObject({ holder: HOLDER, tokens: 1_000 - 5, now: new Date(NOW.getTime() + 250) })
    token?.refund()
    expect(prepaid.find(KEY, 'write')?.tokens).toBe(1_000 - 5)
  })

  test('of another key or bucket are not there', () => {
    const prepaid = createPrepaidTokens(memory(), () => 0)
    const { request } = bucketOf(prepaid, 1_000)
    for (let made = 0; made < 4; made++) request()
    expect(prepaid.find(Buffer.alloc(32, 2), 'write')).toBeNull()
    expect(prepaid.find(KEY, 'evidence')).toBeNull()
    expect(prepaid.find(KEY, 'write')).not.toBeNull()
  })

  test('only one of several requests at once takes more than its own', () => {
    const prepaid = createPrepaidTokens(memory(), () => 0)
    const { request } = bucketOf(prepaid, 1_000)
    for (let made = 0; made < 7; made++) request()
    const orders = [1, 2, 3].map(() => prepaid.topUp(KEY, 'write').wanted)
    expect(orders).toEqual([8, 1, 1])
  })

  test('are topped up before they run out, and those that are left stay valid meanwhile', () => {
    let elapsedMs = 0
    const prepaid = busy(63, () => elapsedMs)
    const first = prepaid.topUp(KEY, 'write')
    expect(first.wanted).toBe(64)
    first.complete(grant(64, 9_000))
    const found = (times: number) => Array.from({ length: times }, () => prepaid.find(KEY, 'write')?.isDue)
    expect(found(47)).toEqual(Array(47).fill(false))
    // A quarter is left: the next request tops up, and no other.
    expect(found(3)).toEqual([true, false, false])
    const renewal = prepaid.renewal(KEY, 'write')
    expect(renewal).toMatchObject({ wanted: 100 - 13, returned: 0 })
    expect(found(1)).toEqual([false])
    renewal.complete(grant(87, 8_913))
    expect(found(20)).toEqual(Array(20).fill(false))
    elapsedMs = 501
    expect(found(2)).toEqual([true, false])
    prepaid.renewal(KEY, 'write').complete(null)
    expect(found(78)).toEqual([...Array(77).fill(false), undefined])
  })

  test('that were renewed and then not needed let the next request take its own', () => {
    let elapsedMs = 0
    const prepaid = busy(15, () => elapsedMs)
    prepaid.renewal(KEY, 'write').complete(grant(16))
    elapsedMs = 1_500
    expect(prepaid.find(KEY, 'write')).toBeNull()
    expect(prepaid.topUp(KEY, 'write')).toMatchObject({ wanted: 1, returned: 16 })
  })

  test('that come back after a renewal are there for the next request', () => {
    const prepaid = busy(13)
    const token = prepaid.find(KEY, 'write')
    const renewal = prepaid.renewal(KEY, 'write')
    renewal.complete(grant(2))
    // One was left.
    token?.refund()
    expect(prepaid.topUp(KEY, 'write')).toMatchObject({ wanted: 1, returned: 1 + 2 + 1 })
  })

  test('that a renewal brought stay when the top-up that it crossed got nothing', () => {
    const prepaid = busy(15)
    const renewal = prepaid.renewal(KEY, 'write')
    const order = prepaid.topUp(KEY, 'write')
    renewal.complete(grant(16))
    order.complete(null)
    expect(prepaid.find(KEY, 'write')?.tokens).toBe(15)
  })

  test('are no more than a hundredth of the bucket, also where top-ups and renewals cross', () => {
    const prepaid = busy(51, () => 0, 2_000)
    const crossing = [prepaid.renewal(KEY, 'write'), prepaid.topUp(KEY, 'write')]
    expect(crossing.map(({ wanted }) => wanted)).toEqual([20, 1])
    for (const { wanted, complete } of crossing) {
      complete(grant(wanted, 0, 2_000))
    }
    for (let made = 0; made < 20; made++) expect(prepaid.find(KEY, 'write')).not.toBeNull()
    expect(prepaid.find(KEY, 'write')).toBeNull()
    expect(prepaid.topUp(KEY, 'write')).toMatchObject({ wanted: 20, returned: 0 })
  })

  test('under one quota are none under the next', () => {
    const prepaid = busy(63)
    const order = prepaid.topUp(KEY, 'write')
    order.complete(grant(64, 9_000))
    const token = prepaid.find(KEY, 'write')
    const free = { ...grant(1, 29, 30), holder: { ...HOLDER, quota: 'free' as const } }
    prepaid.renewal(KEY, 'write').complete(free)
    token?.refund()
    expect(prepaid.find(KEY, 'write')?.tokens).toBe(29)
    expect(prepaid.find(KEY, 'write')).toBeNull()
  })

  test('lose nothing when a top-up and a renewal cross', () => {
    const prepaid = busy(15)
    const renewal = prepaid.renewal(KEY, 'write')
    const order = prepaid.topUp(KEY, 'write')
    renewal.complete(grant(16))
    order.complete(grant(16))
    for (let made = 0; made < 31; made++) expect(prepaid.find(KEY, 'write')).not.toBeNull()
    expect(prepaid.find(KEY, 'write')).toBeNull()
  })

  test('go with a key that was refused, and with one used too long ago', () => {
    const prepaid = createPrepaidTokens(new LRUCache({ maxSize: 2_000 }), () => 0)
    const { request } = bucketOf(prepaid, 1_000)
    for (let made = 0; made < 4; made++) request()
    prepaid.topUp(KEY, 'write').complete(null)
    expect(prepaid.find(KEY, 'write')).toBeNull()
    for (const key of [1, 2, 3]) for (let made = 0; made < 4; made++) request(Buffer.alloc(32, key))
    expect([1, 2, 3].map((key) => prepaid.find(Buffer.alloc(32, key), 'write') !== null)).toEqual([false, true, true])
  })
})
