import { FLOW_LIMITS } from '@countersign/protocol'
import { spendOnJudging } from '../text/judging-budget.js'
import { childPath, keysAreNames } from './general-path.js'

/** A string or a number among a call's arguments. */
export interface Leaf {
  /** Generalised: indexes and keys that may be data are `*`. */
  readonly path: string
  readonly value: string | number
  /** Where it is in these arguments. */
  readonly location: readonly (string | number)[]
}

export interface Leaves {
  readonly leaves: readonly Leaf[]
  readonly cut: boolean
}

const MAX_DEPTH = 16

/** The leaves in a fixed order (keys sorted), so that client and server can pair them without naming concrete paths. */
export function leavesOf(argumentsValue: unknown): Leaves {
  const found: Found = { leaves: [], isFull: false }
  const cut = walk(argumentsValue, '$', [], found)
  return { leaves: found.leaves, cut }
}

interface Found {
  readonly leaves: Leaf[]
  /** True from the first leaf that has no place any more: then there is nothing left to look for. */
  isFull: boolean
}

function walk(value: unknown, path: string, location: Leaf['location'], found: Found): boolean {
  spendOnJudging(STEPS_OF_VALUE)
  if (typeof value === 'string' || typeof value === 'number') {
    if (found.leaves.length >= FLOW_LIMITS.leavesPerCall) {
      found.isFull = true
      return true
    }
    found.leaves.push({ path, value, location })
    return false
  }
  if (typeof value !== 'object' || value === null) return false
  if (location.length >= MAX_DEPTH || path.length > FLOW_LIMITS.pathLength - 56) return true
  const children: Child[] = Array.isArray(value)
    ? value.map((item, index) => [`${path}[*]`, index, item])
    : fieldPaths(value, path)
  let cut = false
  for (const [child, key, item] of children) {
    cut = walk(item, child, [...location, key], found) || cut
    if (found.isFull) return true
  }
  return cut
}

const STEPS_OF_VALUE = 5

type Child = readonly [path: string, key: string | number, value: unknown]

function fieldPaths(value: object, path: string): Child[] {
  const unsorted = Object.entries(value)
  spendOnJudging(unsorted.length * STEPS_OF_VALUE)
  const entries = unsorted.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  const named = path === '$' || keysAreNames(entries)
  return entries.map(([key, item]) => [named ? childPath(path, key) : `${path}.*`, key, item])
}
