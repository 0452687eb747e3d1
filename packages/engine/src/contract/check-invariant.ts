import { type ContractFailure, type JsonValue, LIMITS } from '@countersign/protocol'
import { type CompiledPath, compilePath, locationPath, type PathStep } from '../json/json-path.js'
import { OPERATORS, type OperatorName } from './operators.js'
import type { PreparedInvariant } from './plan.js'

/** Finds values by path: rules read a plain value and a response in the same way. */
export interface Finder {
  first(path: CompiledPath): JsonValue | undefined
  /** Calls `found` for each value until it returns true; the location is null where it is not known. */
  visit(path: CompiledPath, found: (value: JsonValue, location: readonly PathStep[] | null) => boolean): void
}

/**
 * The failures of invariants, up to a limit: one path can find a hundred thousand values. Every value that a path finds
 * must pass; if it finds none, its absence is judged.
 */
export function checkInvariants(
  invariants: readonly PreparedInvariant[],
  finder: Finder,
  write: (path: string) => string,
): ContractFailure[] {
  let failures = NONE
  for (const invariant of invariants) {
    if (invariant.tests.length === 0) continue
    // Most paths name one value, and most values pass.
    if (invariant.path.singular && passes(invariant, finder.first(invariant.path))) continue
    failures = withFailures(failures, invariant, finder, write)
    if (failures.length >= LIMITS.failuresPerRule) return failures.slice(0, LIMITS.failuresPerRule)
  }
  return failures
}

function withFailures(
  before: ContractFailure[],
  invariant: PreparedInvariant,
  finder: Finder,
  write: (path: string) => string,
): ContractFailure[] {
  const { path } = invariant
  let failures = before
  const judge = (value: JsonValue | undefined, location: readonly PathStep[] | null): boolean => {
    if (passes(invariant, value)) return false
    const place = location === null ? path.expression : locationPath(location)
    failures = [...failures, ...failuresOf(invariant, value, place, write)]
    return failures.length >= LIMITS.failuresPerRule
  }
  if (path.singular) {
    judge(finder.first(path), null)
    return failures
  }
  let isFound = false
  finder.visit(path, (value, location) => {
    isFound = true
    return judge(value, location)
  })
  if (!isFound) judge(undefined, null)
  return failures
}

function passes({ tests }: PreparedInvariant, value: JsonValue | undefined): boolean {
  for (const { test } of tests) if (!test(value)) return false
  return true
}

/** What a path finds and where, or that it finds nothing. */
export function foundBy(finder: Finder, path: CompiledPath): { path: string; value: JsonValue | undefined }[] {
  const found: { path: string; value: JsonValue | undefined }[] = []
  finder.visit(path, (value, location) => {
    found.push({ path: location === null ? path.expression : locationPath(location), value })
    return false
  })
  return found.length === 0 ? [{ path: path.expression, value: undefined }] : found
}

export function findIn(value: JsonValue): Finder {
  return {
    first: (path) => path.first(value),
    visit: (path, found) => {
      path.visit(value, found)
    },
  }
}

/** Values that were read elsewhere and sent by path: one value, or a list for a path that can find several. */
export function findAmong(values: Readonly<Record<string, JsonValue>>): Finder {
  const at = (path: CompiledPath) => (Object.hasOwn(values, path.expression) ? values[path.expression] : undefined)
  return {
    first: at,
    visit(path, found) {
      const list = at(path)
      if (!Array.isArray(list)) return
      list.some((value) => found(value, null))
    },
  }
}

/** The counterpart of `findAmong`: what the paths find in a request or a result, by path. */
export function readByPath(paths: readonly CompiledPath[], value: JsonValue): Record<string, JsonValue> {
  const entries = paths.flatMap((path): [string, JsonValue][] => {
    if (!path.singular) return [[path.expression, path.find(value)]]
    const found = path.first(value)
    return found === undefined ? [] : [[path.expression, found]]
  })
  return Object.fromEntries(entries)
}

const ROWS = 'rows:'

/** How a receipt names the rows of a result: an older client does not know it, and sends none. */
export const rowsExpression = (each: CompiledPath, key: CompiledPath, path: CompiledPath): string =>
  `${ROWS}${JSON.stringify([each, key, path].map(({ expression }) => expression))}`

/** What a receipt reports of a result: by path what the paths find, and of rows the key and the value alone. */
export function readOutputs(expressions: readonly string[], value: JsonValue): Record<string, JsonValue> {
  const entries = expressions.flatMap((expression): [string, JsonValue][] => {
    if (!expression.startsWith(ROWS)) {
      const compiled = compilePath(expression)
      return compiled.ok ? Object.entries(readByPath([compiled.path], value)) : []
    }
    const [each, key, path] = pathsIn(expression)
    return each === undefined || key === undefined || path === undefined
      ? []
      : [[expression, readRows(each, key, path, value)]]
  })
  return Object.fromEntries(entries)
}

function readRows(each: CompiledPath, key: CompiledPath, path: CompiledPath, value: JsonValue): JsonValue[][] {
  const rows: JsonValue[][] = []
  each.visit(value, (row) => {
    const [name, found] = [key.first(row), path.first(row)]
    if (name !== undefined) rows.push(found === undefined ? [name] : [name, found])
    return rows.length === LIMITS.rowsPerBinding
  })
  return rows
}

/** The server sends them, and may be a newer one. */
function pathsIn(expression: string): CompiledPath[] {
  try {
    const paths: unknown = JSON.parse(expression.slice(ROWS.length))
    return [paths].flat().flatMap((path) => {
      const compiled = compilePath(String(path))
      return compiled.ok ? [compiled.path] : []
    })
  } catch {
    return []
  }
}

/** What a value must be, for a sentence: `$.failed must be 0`. */
export const requirementOf = ({ path, tests }: PreparedInvariant): string =>
  `${path.expression} ${tests.map(({ operator, operand }) => describe(operator, operand)).join(' and ')}`

const NONE: ContractFailure[] = []

function failuresOf(
  invariant: PreparedInvariant,
  value: JsonValue | undefined,
  path: string,
  write: (path: string) => string,
): ContractFailure[] {
  let failures = NONE
  for (const { operator, operand, test } of invariant.tests) {
    if (test(value)) continue
    if (failures === NONE) failures = []
    failures.push({
      path: write(path),
      operator,
      expected: operand,
      ...(value === undefined ? {} : { found: value }),
      message: invariant.message ?? describe(operator, operand),
    })
  }
  return failures
}

/** `must be at most 500`, for a remedy and for people. */
const describe = (operator: OperatorName, operand: JsonValue): string => OPERATORS[operator].requirement(shown(operand))

/** The beginning of an operand as JSON, which is written once, not for each value that fails. */
function shown(operand: JsonValue): string {
  if (typeof operand === 'string') return cut(JSON.stringify(operand.slice(0, MOST_SHOWN)))
  if (typeof operand !== 'object' || operand === null) return JSON.stringify(operand)
  const known = SHOWN.get(operand)
  if (known !== undefined) return known
  const text = cut(JSON.stringify(operand))
  SHOWN.set(operand, text)
  return text
}

const SHOWN = new WeakMap<object, string>()
const MOST_SHOWN = 120
const cut = (text: string): string => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN - 3)}...` : text)
