import { type ContractFailure, type JsonValue, LIMITS } from '@countersign/protocol'
import type { CompiledPath } from '../json/json-path.js'
import { RegexTooCostlyError } from '../text/regex.js'
import { OPERATORS, type OperatorName } from './operators.js'
import type { PreparedInvariant } from './plan.js'

/** Finds values by path: rules read a plain value and a response in the same way. */
export interface Finder {
  first(path: CompiledPath): JsonValue | undefined
  nodes(path: CompiledPath): readonly { readonly path: string; readonly value: JsonValue }[]
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
    const { path, tests } = invariant
    if (tests.length === 0) continue
    // Most paths name one value, and most values pass.
    if (path.singular && passes(invariant, finder.first(path))) continue
    const values = valuesOf(invariant, finder)
    if (values === null)
      failures = [...failures, { path: write(path.expression), operator: 'regex', message: TOO_LONG }]
    for (const node of values ?? []) {
      const found = failuresOf(invariant, node.value, node.path, write)
      if (found.length === 0) continue
      failures = [...failures, ...found]
      if (failures.length >= LIMITS.failuresPerRule) return failures.slice(0, LIMITS.failuresPerRule)
    }
  }
  return failures
}

const TOO_LONG = 'the value contains text too long for a pattern of the path'

function passes({ tests }: PreparedInvariant, value: JsonValue | undefined): boolean {
  for (const { test } of tests) if (!test(value)) return false
  return true
}

/** Null if the path cannot be evaluated on this value. */
function valuesOf(
  { path }: PreparedInvariant,
  finder: Finder,
): readonly { readonly path: string; readonly value: JsonValue | undefined }[] | null {
  if (path.singular) return [{ path: path.expression, value: finder.first(path) }]
  try {
    const nodes = finder.nodes(path)
    return nodes.length === 0 ? [{ path: path.expression, value: undefined }] : nodes
  } catch (error) {
    if (error instanceof RegexTooCostlyError) return null
    throw error
  }
}

/**
 * True if some value that the path finds passes all tests of a condition. A value that a test cannot judge counts as
 * passing: writing "500" as text, or text too long for the pattern, must not get a call past the person who would have
 * to approve it.
 */
export function holdsSomewhere(invariant: PreparedInvariant, finder: Finder): boolean {
  if (invariant.path.singular) return holds(invariant, finder.first(invariant.path))
  const nodes = finder.nodes(invariant.path)
  return nodes.length === 0 ? holds(invariant, undefined) : nodes.some(({ value }) => holds(invariant, value))
}

function holds({ tests }: PreparedInvariant, value: JsonValue | undefined): boolean {
  return tests.every(({ test, cannotJudge }) => test(value) || (value !== undefined && cannotJudge(value)))
}

export function findIn(value: JsonValue): Finder {
  return { first: (path) => path.first(value), nodes: (path) => path.nodes(value) }
}

/** Values that were read elsewhere and sent by path: one value, or a list for a path that can find several. */
export function findAmong(values: Readonly<Record<string, JsonValue>>): Finder {
  const at = (path: CompiledPath) => (Object.hasOwn(values, path.expression) ? values[path.expression] : undefined)
  return {
    first: at,
    nodes(path) {
      const list = at(path)
      return Array.isArray(list) ? list.map((value) => ({ path: path.expression, value })) : []
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
function describe(operator: OperatorName, operand: JsonValue): string {
  const shown = JSON.stringify(operand)
  const text = shown.length > 120 ? `${shown.slice(0, 117)}...` : shown
  return OPERATORS[operator].requirement(text)
}
