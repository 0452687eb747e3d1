import { createHash } from 'node:crypto'

/**
 * Bounded collections whose content depends only on what was added, not on the order or the split: each keeps the
 * members with the smallest hashes, so a member once dropped would be dropped again.
 */

/** The smallest distinct hashes added, sorted. Counts exactly up to its capacity and estimates beyond it. */
export type Sketch = string[]

export const SKETCH_CAPACITY = 64

/** 64 bits as 16 hex digits, so that string order is numeric order. */
export const sketchHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

export function addToSketch(sketch: Sketch, hash: string, capacity = SKETCH_CAPACITY): void {
  const last = sketch[sketch.length - 1]
  if (sketch.length >= capacity && last !== undefined && hash >= last) return
  let low = 0
  let high = sketch.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sketch[middle] ?? '') < hash) low = middle + 1
    else high = middle
  }
  if (sketch[low] === hash) return
  sketch.splice(low, 0, hash)
  if (sketch.length > capacity) sketch.pop()
}

export function mergeSketches(a: Sketch, b: Sketch, capacity = SKETCH_CAPACITY): Sketch {
  return [...new Set([...a, ...b])].sort().slice(0, capacity)
}

export function countOf(sketch: Sketch, capacity = SKETCH_CAPACITY): number {
  const last = sketch[capacity - 1]
  if (last === undefined) return sketch.length
  const share = Number.parseInt(last.slice(0, 13), 16) / 0x10_0000_0000_0000
  return Math.max(capacity, Math.round((capacity - 1) / share))
}

/** A map of at most `capacity` entries: those whose keys hash smallest. `full` once anything was left out. */
export interface Sample<T> {
  entries: [key: string, value: T][]
  full: boolean
}

export const newSample = <T>(): Sample<T> => ({ entries: [], full: false })

/** The value under a key, created if it is new. Null if the sample has no room for this key. */
export function sampled<T>(sample: Sample<T>, key: string, capacity: number, make: () => T): T | null {
  const at = place(sample.entries, key)
  const found = sample.entries[at]
  if (found !== undefined && found[0] === key) return found[1]
  if (sample.entries.length >= capacity) sample.full = true
  if (at >= capacity) return null
  const value = make()
  sample.entries.splice(at, 0, [key, value])
  if (sample.entries.length > capacity) sample.entries.pop()
  return value
}

export function mergeSamples<T>(a: Sample<T>, b: Sample<T>, capacity: number, merge: (x: T, y: T) => T): Sample<T> {
  const merged = new Map(a.entries)
  for (const [key, value] of b.entries) {
    const other = merged.get(key)
    merged.set(key, other === undefined ? value : merge(other, value))
  }
  const entries = [...merged].sort(([x], [y]) => compareKeys(x, y))
  return { entries: entries.slice(0, capacity), full: a.full || b.full || entries.length > capacity }
}

export const getSampled = <T>(sample: Sample<T>, key: string): T | undefined => {
  const found = sample.entries[place(sample.entries, key)]
  return found !== undefined && found[0] === key ? found[1] : undefined
}

/** Where the key is, or would be. */
function place(entries: readonly [string, unknown][], key: string): number {
  const hash = keyHash(key)
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = entries[middle]?.[0] ?? ''
    const difference = keyHash(other) - hash
    if (difference < 0 || (difference === 0 && other < key)) low = middle + 1
    else high = middle
  }
  return low
}

const compareKeys = (a: string, b: string): number => {
  const difference = keyHash(a) - keyHash(b)
  return difference !== 0 ? difference : a < b ? -1 : a > b ? 1 : 0
}

/** FNV-1a with a final mix: fast, and even enough to choose a sample by. */
function keyHash(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
