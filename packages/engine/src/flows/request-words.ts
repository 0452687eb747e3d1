import { createHash } from 'node:crypto'

/** Words of one request that are compared, and looked at to choose them. */
const MOST_COMPARED = 64
const MOST_WORDS = 512

/**
 * A hash of each word of a request under the key, sorted: `w`, then four characters a word. Two requests share as many
 * of them as of their words, whatever the key is, and without the key the words cannot be told. Of a long request, words
 * are chosen without the key, so that every key compares the same ones.
 */
export function requestWords(key: string, text: string): string {
  const seeds = seedsOf(key)
  const words = [...new Set((text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, MOST_WORDS))]
  const compared = words.length <= MOST_COMPARED ? words : chosen(words)
  const hashes = compared.map((word) => {
    const hash = mixed(hashOf(word, seeds[0]) ^ mixed(hashOf(word, seeds[1]) ^ seeds[2])) >>> 8
    return Buffer.from([hash >>> 16, hash >>> 8, hash]).toString('base64url')
  })
  return `w${hashes.sort().join('')}`
}

const chosen = (words: readonly string[]): string[] =>
  words
    .map((word) => ({ word, rank: hashOf(word, 0) }))
    .sort((a, b) => a.rank - b.rank || (a.word < b.word ? -1 : 1))
    .slice(0, MOST_COMPARED)
    .map(({ word }) => word)

type Seeds = readonly [number, number, number]
/** Of the key that was used last: a program has one. */
let seeds: { readonly key: string; readonly values: Seeds } | null = null

/** What makes the hashes a secret of who has the key. A cryptographic hash of every word would take most of a capture's time. */
function seedsOf(key: string): Seeds {
  if (seeds?.key !== key) {
    const digest = createHash('sha256').update(`words of requests\n${key}`).digest()
    seeds = { key, values: [digest.readUInt32LE(0), digest.readUInt32LE(4), digest.readUInt32LE(8)] }
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

/** The words of a request as a client sent them. Older ones sent the smallest of 32 hashes over all words, a byte each. */
interface Words {
  readonly hashes: readonly string[]
  readonly isSketch: boolean
}

function readWords(text: string): Words {
  const isSketch = !text.startsWith('w')
  return { isSketch, hashes: text.slice(isSketch ? 0 : 1).match(isSketch ? /../g : /.{4}/g) ?? [] }
}

/** From this share of common words on, two requests are the same one in other words. */
const SAME_REQUEST = 0.7

function isSame(a: Words, b: Words): boolean {
  if (a.isSketch !== b.isSketch) return false
  if (a.isSketch) return a.hashes.filter((hash, at) => hash === b.hashes[at]).length >= SAME_REQUEST * a.hashes.length
  const [fewer, more] = a.hashes.length < b.hashes.length ? [a.hashes, b.hashes] : [b.hashes, a.hashes]
  if (fewer.length < SAME_REQUEST * more.length) return false
  const common = countCommon(fewer, more)
  return common >= SAME_REQUEST * (fewer.length + more.length - common)
}

/** Both are sorted. */
function countCommon(a: readonly string[], b: readonly string[]): number {
  let [at, other, common] = [0, 0, 0]
  while (at < a.length && other < b.length) {
    const [x = '', y = ''] = [a[at], b[other]]
    if (x === y) common++
    if (x <= y) at++
    if (y <= x) other++
  }
  return common
}

/**
 * The request that stands for each: the smallest of those that are the same in other words, also by way of a third. So
 * the groups do not depend on the order of the requests, which differs from key to key.
 */
export function groupRequests(words: ReadonlyMap<string, string | undefined>): Map<string, string> {
  const requests = [...words.keys()].sort()
  const leader = new Map(requests.map((request) => [request, request]))
  const leaderOf = (request: string): string => {
    let at = request
    while (leader.get(at) !== at) at = leader.get(at) ?? at
    leader.set(request, at)
    return at
  }
  const compared: { request: string; words: Words }[] = []
  for (const request of requests) {
    const text = words.get(request)
    if (text === undefined) continue
    const own = readWords(text)
    for (const other of compared) {
      const [a, b] = [leaderOf(request), leaderOf(other.request)]
      if (a !== b && isSame(own, other.words)) leader.set(a < b ? b : a, a < b ? a : b)
    }
    if (compared.length < MOST_COMPARED_REQUESTS) compared.push({ request, words: own })
  }
  return new Map(requests.map((request) => [request, leaderOf(request)]))
}

const MOST_COMPARED_REQUESTS = 1_024
