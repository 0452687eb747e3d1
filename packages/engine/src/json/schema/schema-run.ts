import { type JsonObject, type JsonValue, LIMITS } from '@countersign/protocol'
import { locationPath, type PathStep } from '../json-path.js'

/** Why a value is not valid against a schema. */
export interface SchemaProblem {
  /** Where in the value, as a JSONPath. */
  readonly path: string
  readonly keyword: string
  readonly expected: JsonValue
  /** Null also if nothing was found. */
  readonly found: JsonValue
  readonly message: string
}

/**
 * Checks a value against a schema, or against one keyword of it. `seen` notes which properties and items were evaluated;
 * it is null where no schema of the document asks for that.
 */
export type Check = (value: JsonValue, run: Run, place: Place, seen: Evaluated | null) => boolean

/** One validation of one value. */
export interface Run {
  /** Null while only the verdict counts: then the first failure ends the check, and places are not kept. */
  readonly problems: Noted[] | null
  /** How many references are being followed, one inside the other. */
  depth: number
  /** How many were followed in all. A schema that refers to itself twice doubles them at each level of the value. */
  readonly followed: { count: number }
}

/** Where in the value a check is; null at its root. */
export type Place = { readonly above: Place; readonly step: PathStep } | null

export const below = (run: Run, above: Place, step: PathStep): Place => (run.problems === null ? null : { above, step })

type Finding = Pick<SchemaProblem, 'keyword' | 'expected' | 'found' | 'message'>

/** A problem that is written out at the end, if it still counts: its path and message may be long. */
export interface Noted {
  readonly place: Place
  readonly finding: () => Finding
}

export const written = ({ place, finding }: Noted): SchemaProblem => ({
  path: locationPath(locationOf(place)),
  ...finding(),
})

/** Notes a problem, if problems are collected. Always false, so that a check can return it. */
export function fail(run: Run, place: Place, finding: () => Finding, step?: PathStep): false {
  const { problems } = run
  if (problems === null) return false
  if (problems.length >= LIMITS.failuresPerRule) return false
  problems.push({ place: step === undefined ? place : { above: place, step }, finding })
  return false
}

function locationOf(place: Place): PathStep[] {
  const location: PathStep[] = []
  for (let at = place; at !== null; at = at.above) location.push(at.step)
  return location.reverse()
}

/** One check of several: all of them must hold. Goes on after a failure only to collect its problems. */
export function allOf(checks: readonly Check[]): Check {
  return (value, run, place, seen) => {
    let isValid = true
    for (const check of checks) {
      if (check(value, run, place, seen)) continue
      isValid = false
      if (run.problems === null) return false
    }
    return isValid
  }
}

/** Does something whose problems count only if it returns false. */
export function tentatively(run: Run, work: () => boolean): boolean {
  const { problems } = run
  if (problems === null) return work()
  const before = problems.length
  const isValid = work()
  if (isValid) problems.length = before
  return isValid
}

/** For a check whose problems never count. */
export const quietly = (run: Run): Run => (run.problems === null ? run : { ...run, problems: null })

/** Which properties and items of one value were evaluated. */
export interface Evaluated {
  readonly names: Set<string>
  /** All items before this index. */
  items: number
  readonly others: Set<number>
}

export const nothingEvaluated = (): Evaluated => ({ names: new Set(), items: 0, others: new Set() })

/** For a branch: what it evaluates counts only if it is valid. */
export const branchOf = (seen: Evaluated | null): Evaluated | null => (seen === null ? null : nothingEvaluated())

export function merge(seen: Evaluated | null, branch: Evaluated | null): void {
  if (seen === null || branch === null) return
  seen.items = Math.max(seen.items, branch.items)
  for (const name of branch.names) seen.names.add(name)
  for (const index of branch.others) seen.others.add(index)
}

export const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A property by its name. What every object inherits is not there, and looking for the rest is quick. */
export function property(object: JsonObject, name: string): JsonValue | undefined {
  const value = object[name]
  return typeof value === 'function' || (name === '__proto__' && !Object.hasOwn(object, name)) ? undefined : value
}
