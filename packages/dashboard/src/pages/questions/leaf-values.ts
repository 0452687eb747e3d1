import type { JsonObject, JsonValue } from '@countersign/protocol'

/** One argument, or part of one, that differs; undefined where it is missing. */
export interface Change {
  readonly path: string
  readonly before: JsonValue | undefined
  readonly now: JsonValue | undefined
}

/** What differs between two sets of arguments, down to single values, and how many of these are the same. */
export function changesBetween(before: JsonObject, now: JsonObject): { changes: Change[]; same: number } {
  const [old, fresh] = [leavesOf(before), leavesOf(now)]
  const paths = [...new Set([...fresh.keys(), ...old.keys()])]
  const changes = paths
    .map((path) => ({ path, before: old.get(path), now: fresh.get(path) }))
    .filter((change) => JSON.stringify(change.before) !== JSON.stringify(change.now))
  return { changes, same: paths.length - changes.length }
}

function leavesOf(root: JsonObject): Map<string, JsonValue> {
  const leaves = new Map<string, JsonValue>()
  const queue: [path: string, value: JsonValue][] = [['$', root]]
  for (const [path, value] of queue) {
    const parts = value !== null && typeof value === 'object' ? Object.entries(value) : []
    // What holds nothing is a value of its own.
    if (parts.length === 0) leaves.set(path, value)
    for (const [key, part] of parts) queue.push([path + stepOf(key, Array.isArray(value)), part as JsonValue])
  }
  return leaves
}

const stepOf = (key: string, isIndex: boolean): string => {
  if (isIndex) return `[${key}]`
  return PLAIN.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}

const PLAIN = /^[A-Za-z_][A-Za-z0-9_]*$/

/** A path as people read it. */
export const plainPath = (path: string): string => path.replace(/^\$\.?(?=.)/, '')

/** The names and places of a path that leads to one value, such as `$.items[0].price`; null for every other path. */
function partsOf(path: string): (string | number)[] | null {
  if (!/^\$(?:\.[A-Za-z_][A-Za-z0-9_]*|\[\d+\]|\['[^'\\]*'\]|\["[^"\\]*"\])*$/.test(path)) return null
  return [...path.matchAll(/\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/g)].map(
    ([, name, index, single, double]) => (index === undefined ? (name ?? single ?? double ?? '') : Number(index)),
  )
}

/** The value at a path, undefined where there is none or the path may lead to several. */
export function valueAt(root: JsonObject, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = root
  for (const part of partsOf(path) ?? [Number.NaN]) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string | number, JsonValue>)[part]
  }
  return value
}

/** The same arguments with another value at a path that leads to one. */
export function withValueAt(root: JsonObject, path: string, value: JsonValue): JsonObject {
  const [parts, copy] = [partsOf(path) ?? [], structuredClone(root)]
  const holder = parts
    .slice(0, -1)
    .reduce<Record<string | number, unknown>>(
      (at, part) => at[part] as Record<string | number, unknown>,
      copy as Record<string | number, unknown>,
    )
  const last = parts.at(-1)
  if (last !== undefined) holder[last] = value
  return copy
}
