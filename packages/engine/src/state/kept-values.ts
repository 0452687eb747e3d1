import type { Opening } from '@countersign/protocol'
import type { KeptKind } from '../contract/plan.js'
import { compareDecimals } from '../json/decimal.js'
import { lookUp, setEntry } from '../json/look-up.js'
import type { Mutable } from './copy-state.js'
import type { Extremes, SessionState } from './state.js'

/** Where a value that is kept per key stands: no name contains a `#`. Without a key, under its name. */
export const slotOf = (name: string, key: string | null): string => (key === null ? name : `${name}#${key}`)

const nameOfKeyed = (slot: string): string | null => {
  const end = slot.indexOf('#')
  return end === -1 ? null : slot.slice(0, end)
}

/** How many keys a name has; `countedAs` is its kind and name. */
export const keyCount = (state: Pick<SessionState, 'keyCounts'>, countedAs: string): number =>
  state.keyCounts === undefined ? 0 : (lookUp(state.keyCounts, countedAs) ?? 0)

/** Counts the keys of entries that were added to a record, or removed from it. The counts are copied once for all. */
export function countKeys(next: Mutable<SessionState>, kind: KeptKind, slots: Iterable<string>, change: 1 | -1): void {
  let counts: Record<string, number> | null = null
  for (const slot of slots) {
    const name = nameOfKeyed(slot)
    if (name === null) continue
    counts ??= { ...next.keyCounts }
    const countedAs = `${kind}.${name}`
    const count = (lookUp(counts, countedAs) ?? 0) + change
    if (count > 0) setEntry(counts, countedAs, count)
    else delete counts[countedAs]
  }
  if (counts !== null) next.keyCounts = counts
}

/** True of an amount that is nothing under a key: it need not be kept. */
export const isForgettable = (slot: string, amount: string): boolean =>
  nameOfKeyed(slot) !== null && compareDecimals(amount, '0') === 0

/** The lowest and highest of two ranges together. */
export const widen = (a: Extremes | undefined, b: Extremes): Extremes =>
  a === undefined
    ? b
    : {
        low: compareDecimals(b.low, a.low) < 0 ? b.low : a.low,
        high: compareDecimals(b.high, a.high) > 0 ? b.high : a.high,
      }

/** The values that bind under an established name: one, or the extremes of all that were seen. Null: none. */
export function establishedAs(state: SessionState, slot: string): Extremes | null {
  const value = lookUp(state.envelopes, slot)
  if (value === undefined) return null
  const seen = state.strictest === undefined ? undefined : lookUp(state.strictest, slot)
  return seen ?? { low: value, high: value }
}

/** What still counts as proved once newer runs have undone some: for their values, or for all where they gave none. */
export function withoutProofs(
  satisfied: SessionState['satisfied'],
  undone: readonly Opening[],
): SessionState['satisfied'] {
  const next = { ...satisfied }
  for (const { key, witness } of undone) {
    const known = lookUp(next, key)
    if (known === undefined) continue
    const left = known === true || witness === null ? [] : known.filter((item) => item !== witness)
    if (left.length > 0) setEntry(next, key, left)
    else delete next[key]
  }
  return next
}

type Openings = SessionState['openings']

/** How many later calls may still be opened, by precondition and witness. */
export const openingsLeft = (state: Pick<SessionState, 'openings'>, { key, witness }: Opening): number =>
  lookUp(openingsOf(state, key), witness ?? '') ?? 0

export const openingsOf = (state: Pick<SessionState, 'openings'>, key: string): Readonly<Record<string, number>> =>
  (state.openings === undefined ? undefined : lookUp(state.openings, key)) ?? NONE

const NONE: Readonly<Record<string, number>> = {}

/** Adds openings, or uses them up. What was never opened stays closed. */
export function changeOpenings(openings: Openings, changed: readonly Opening[], by: 1 | -1): Openings {
  if (changed.length === 0) return openings
  const next = { ...openings }
  const copied = new Map<string, Record<string, number>>()
  for (const { key, witness } of changed) {
    const own = copied.get(key) ?? { ...lookUp(next, key) }
    copied.set(key, own)
    const left = (lookUp(own, witness ?? '') ?? 0) + by
    if (left > 0) setEntry(own, witness ?? '', left)
    else delete own[witness ?? '']
  }
  for (const [key, own] of copied) {
    if (Object.keys(own).length > 0) setEntry(next, key, own)
    else delete next[key]
  }
  return next
}
