import type { JsonValue } from '@countersign/protocol'
import { keysAreNames } from '../json/general-path.js'

/** One step of a source path: a name, an index, or null for any. */
export type SourceStep = string | number | null

/** The steps of a path of names, indices, `.*` and `[*]`; null for any other path. */
export function sourceSteps(path: string): readonly SourceStep[] | null {
  if (!path.startsWith('$')) return null
  const steps: SourceStep[] = []
  let at = 1
  while (at < path.length) {
    STEP.lastIndex = at
    const found = STEP.exec(path)
    if (found === null) return null
    const [whole, name, quoted, doubleQuoted, index] = found
    const text = name ?? quoted ?? doubleQuoted
    steps.push(text ?? (index === undefined ? null : Number(index)))
    at += whole.length
  }
  return steps
}

const STEP = /\.([\p{L}_][\p{L}\p{N}_]*)|\['([^'\\]*)'\]|\["([^"\\]*)"\]|\[(\d+)\]|\.\*|\[\*\]/uy

/**
 * True for a value that the rule covers: at its path or below it, and also a single value in place of a list or object
 * on the way. Choosing another shape must not evade the rule.
 */
export function coversLocation(steps: readonly SourceStep[], location: readonly (string | number)[]): boolean {
  const shared = Math.min(steps.length, location.length)
  for (let at = 0; at < shared; at++) {
    const step = steps[at] ?? null
    if (step !== null && step !== location[at]) return false
  }
  return true
}

/** The same for a general path: all values there are covered. */
export const coversPath = (steps: readonly SourceStep[], path: string): boolean => coversSteps(steps, sourceSteps(path))

/** The same for the steps of the path. Null: it cannot be read. */
export function coversSteps(steps: readonly SourceStep[], location: readonly SourceStep[] | null): boolean {
  // A rule at `$` covers everything, also paths that cannot be read.
  if (steps.length === 0) return true
  if (location === null) return false
  const shared = Math.min(steps.length, location.length)
  for (let at = 0; at < shared; at++) {
    const step = steps[at] ?? null
    if (step !== null && step !== location[at]) return false
  }
  return true
}

/** The same for a key of a map. A key that the rule itself names is no value. */
export const coversKey = (steps: readonly SourceStep[], location: readonly (string | number)[]): boolean =>
  typeof steps[location.length - 1] !== 'string' && coversLocation(steps, location)

/** How many values the rule covers, at any depth, and keys that are data. */
export function countCovered(
  value: JsonValue,
  steps: readonly SourceStep[],
  counts: (value: JsonValue) => boolean,
  at = 0,
): number {
  if (typeof value !== 'object' || value === null) return counts(value) ? 1 : 0
  const step = steps[at] ?? null
  const below = (child: JsonValue) => countCovered(child, steps, counts, at + 1)
  if (Array.isArray(value)) {
    if (step !== null) return typeof step === 'number' && step < value.length ? below(value[step] as JsonValue) : 0
    let count = 0
    for (const child of value) count += below(child)
    return count
  }
  // Looked up, not looked for: an object may have thousands of members, and each rule would pass them all.
  if (step !== null) return typeof step === 'string' && Object.hasOwn(value, step) ? below(value[step] as JsonValue) : 0
  const keys = Object.keys(value)
  let count = at > 0 && !keysAreNames(Object.entries(value)) ? keys.length : 0
  for (const key of keys) count += below(value[key] as JsonValue)
  return count
}
