import { describe, expect, test } from 'vitest'
import { createCache } from './cache.js'

/** Entries of 1,000 bytes with all that belongs to them. */
const ENTRY = 1_000
const cost = (owner: string, bytes = ENTRY) => ({ owner, bytes: bytes - 252 })

const cacheOf = (entries: number, share = 1 / 4) => {
  const evicted: string[] = []
  const cache = createCache<string>({
    boundBytes: entries * ENTRY,
    share,
    onEvicted: (value) => evicted.push(value),
  })
  return { cache, evicted, remember: (key: string, owner: string) => cache.remember(key, key, cost(owner)) }
}

describe('a bounded memory', () => {
  test('never holds more than its bound, whatever it is given', () => {
    const { cache } = cacheOf(10)
    for (let at = 0; at < 1_000; at++) {
      cache.remember(`k${at % 97}`, 'x', { owner: `t${at % 7}`, bytes: (at * 7_919) % 12_000 })
      expect(cache.bytes()).toBeLessThanOrEqual(10 * ENTRY)
    }
  })

  test('what was used longest ago goes first; finding is a use', () => {
    const { cache, evicted, remember } = cacheOf(3, 1)
    for (const key of ['k1', 'k2', 'k3']) remember(key, `t${key}`)
    expect(cache.find('k1')).toBe('k1')
    remember('k4', 'tk4')
    expect(evicted).toEqual(['k2'])
    expect([...cache.values()]).toEqual(['k3', 'k1', 'k4'])
    expect(cache.find('k2')).toBeUndefined()
  })

  test('who holds more than the share loses the oldest first, while another keeps older ones', () => {
    const { cache, evicted, remember } = cacheOf(8)
    remember('a1', 'a')
    remember('a2', 'a')
    for (let at = 1; at <= 9; at++) remember(`b${at}`, 'b')
    expect(evicted).toEqual(['b1', 'b2', 'b3'])
    for (const key of ['a1', 'a2', 'b9']) expect(cache.find(key)).toBe(key)
  })

  test('one alone may use it all, and gives way when another comes', () => {
    const { cache, evicted, remember } = cacheOf(8)
    for (let at = 1; at <= 8; at++) remember(`a${at}`, 'a')
    expect(evicted).toEqual([])
    for (let at = 1; at <= 8; at++) remember(`b${at}`, 'b')
    expect(evicted.filter((key) => key.startsWith('a'))).toEqual(['a1', 'a2', 'a3', 'a4'])
    expect(cache.bytes()).toBe(8 * ENTRY)
  })

  test('an entry above the share costs only its owner, and one above the bound is not remembered', () => {
    const { cache, evicted, remember } = cacheOf(8)
    for (let at = 1; at <= 3; at++) {
      remember(`a${at}`, 'a')
      remember(`b${at}`, 'b')
    }
    cache.remember('c1', 'c1', cost('c', 4 * ENTRY))
    // The owners of three entries are above their share of two.
    expect(evicted).toEqual(['c1'])
    cache.remember('c2', 'c2', cost('c', 9 * ENTRY))
    expect(evicted).toEqual(['c1', 'c2'])
    expect([...cache.values()]).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3'])
  })

  test('a changed weight and owner count, and what is forgotten weighs nothing', () => {
    const { cache, remember } = cacheOf(8)
    remember('k1', 'a')
    cache.remember('k1', 'heavier', cost('a', 3 * ENTRY))
    expect(cache.bytes()).toBe(3 * ENTRY)
    cache.remember('k1', 'lighter', cost('b', 2 * ENTRY))
    expect([cache.bytes(), cache.find('k1')]).toEqual([2 * ENTRY, 'lighter'])
    cache.remember('k1', 'too heavy', cost('b', 9 * ENTRY))
    expect([cache.bytes(), cache.find('k1')]).toEqual([0, undefined])
    remember('k2', 'a')
    cache.forget('k2')
    cache.forget('k2')
    expect(cache.bytes()).toBe(0)
  })
})
