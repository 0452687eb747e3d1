import { createHash } from 'node:crypto'

const HASHES = 32
const MOST_WORDS = 512

/**
 * The smallest of 32 hashes over the words of a request, a byte of each. Two requests share about as many of them as of
 * their words, and nobody without the key can tell the words.
 */
export function requestWords(key: string, text: string): string {
  const [first, second] = seedsOf(key)
  const words = new Set((text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, MOST_WORDS))
  const least = new Uint32Array(HASHES).fill(0xffffffff)
  for (const word of words) {
    const a = hashOf(word, first)
    const b = hashOf(word, second) | 1
    for (let at = 0; at < HASHES; at++) {
      const hash = mixed(Math.imul(b, at + 1) ^ a)
      if (hash < (least[at] ?? 0)) least[at] = hash
    }
  }
  return Buffer.from(least.map((hash) => mixed(hash) & 0xff)).toString('hex')
}

/** Of the key that was used last: a program has one. */
let seeds: { readonly key: string; readonly values: readonly [number, number] } | null = null

/** What makes the hashes a secret of who has the key. A cryptographic hash of every word would take most of a capture's time. */
function seedsOf(key: string): readonly [number, number] {
  if (seeds?.key !== key) {
    const digest = createHash('sha256').update(`words of requests\n${key}`).digest()
    seeds = { key, values: [digest.readUInt32LE(0), digest.readUInt32LE(4)] }
  }
  return seeds.values
}

function hashOf(word: string, seed: number): number {
  let hash = seed
  for (let at = 0; at < word.length; at++) hash = mixed(hash ^ word.charCodeAt(at))
  return hash
}

function mixed(hash: number): number {
  let h = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** The share of words that two requests have in common, as far as their hashes tell. */
export function sharedWords(a: string, b: string): number {
  let same = 0
  for (let at = 0; at < HASHES; at++) if (a.slice(2 * at, 2 * at + 2) === b.slice(2 * at, 2 * at + 2)) same++
  return same / HASHES
}

/** From this share on, two requests are the same one in other words. */
const SAME_REQUEST = 0.7

/** The request that stands for each: the smallest of those that are the same in other words. */
export function groupRequests(words: ReadonlyMap<string, string | undefined>): Map<string, string> {
  const leader = new Map<string, string>()
  const leaders: [request: string, words: string][] = []
  for (const [request, own] of [...words].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const same = own === undefined ? undefined : leaders.find(([, other]) => sharedWords(own, other) >= SAME_REQUEST)
    leader.set(request, same?.[0] ?? request)
    if (same === undefined && own !== undefined && leaders.length < MOST_LEADERS) leaders.push([request, own])
  }
  return leader
}

const MOST_LEADERS = 1_024
