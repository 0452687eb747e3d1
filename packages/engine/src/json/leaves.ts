import { FLOW_LIMITS } from '@countersign/protocol'
import { childPath, keysAreNames } from './general-path.js'

/** A string or a number among a call's arguments, or a key of a map whose keys are data. */
export interface Leaf {
  /** Generalised: indexes and keys that may be data are `*`. */
  readonly path: string
  readonly value: string | number
  /** Where it is in these arguments. */
  readonly location: readonly (string | number)[]
  /** True for a key: it is the last step of its location. */
  readonly isKey?: true
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
  if (typeof value === 'string' || typeof value === 'number') return add({ path, value, location }, found)
  if (typeof value !== 'object' || value === null) return false
  if (location.length >= MAX_DEPTH || path.length > FLOW_LIMITS.pathLength - 56) return true
  const children: Child[] = Array.isArray(value)
    ? value.map((item, index) => [`${path}[*]`, index, item])
    : fieldPaths(value, path)
  let cut = false
  for (const [child, key, item, isData] of children) {
    if (isData === true)
      cut = add({ path: child, value: String(key), location: [...location, key], isKey: true }, found) || cut
    cut = walk(item, child, [...location, key], found) || cut
    if (found.isFull) return true
  }
  return cut
}

/** True where there is no room for it. */
function add(leaf: Leaf, found: Found): boolean {
  if (found.leaves.length >= FLOW_LIMITS.leavesPerCall) found.isFull = true
  else found.leaves.push(leaf)
  return found.isFull
}

type Child = readonly [path: string, key: string | number, value: unknown, isData?: boolean]

function fieldPaths(value: object, path: string): Child[] {
  const unsorted = Object.entries(value)
  const entries = unsorted.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  const named = path === '$' || keysAreNames(entries)
  return entries.map(([key, item]) => [named ? childPath(path, key) : `${path}.*`, key, item, !named])
}
