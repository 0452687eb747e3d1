import type { JsonValue } from '@countersign/protocol'
import { JSONPathEnvironment, type JSONPathQuery, jsonpath } from 'json-p3'
import { pathProblem } from './json-path-limits.js'
import { compileWalk } from './path-walk.js'

/** A JSONPath that can be evaluated. */
export interface CompiledPath {
  readonly expression: string
  /** True when the path names at most one value: only child names and indices. */
  readonly singular: boolean
  /** The names and indices of a singular path; null for any other. */
  readonly steps: readonly PathStep[] | null
  /**
   * Calls `found` for every value in order, with where it is, until `found` returns true; then returns true itself. The
   * location is valid during the call only.
   */
  visit(value: JsonValue, found: (value: JsonValue, location: readonly PathStep[]) => boolean): boolean
  find(value: JsonValue): JsonValue[]
  first(value: JsonValue): JsonValue | undefined
  nodes(value: JsonValue): PathNode[]
}

/** A value that a path found, and where. */
export interface PathNode {
  /** Where the value is, as a singular path such as `$.items[0].price`. */
  readonly path: string
  readonly location: readonly PathStep[]
  readonly value: JsonValue
}

export type PathStep = string | number

/** A compiled path, or why it was refused. */
export type PathCompilation = { ok: true; path: CompiledPath } | { ok: false; problem: string }

/**
 * Compiles an RFC 9535 path. A contract's path may not cost more than a few passes over the value, so some valid
 * expressions are refused; `unlimited` accepts them all.
 */
export function compilePath(expression: string, options: { unlimited?: boolean } = {}): PathCompilation {
  const unlimited = options.unlimited ?? false
  if (!unlimited && expression.length > MAX_EXPRESSION_LENGTH) {
    return { ok: false, problem: `the path is longer than ${MAX_EXPRESSION_LENGTH} characters` }
  }
  let query: JSONPathQuery
  try {
    query = environment.compile(expression)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { ok: false, problem: `the path is not RFC 9535 JSONPath: ${reason}` }
  }
  const problem = unlimited ? null : pathProblem(query)
  if (problem !== null) return { ok: false, problem }
  const steps = singularSteps(query)
  return { ok: true, path: steps === null ? queryPath(expression, query) : directPath(expression, steps) }
}

/** Writes a location as JSONPath, with the shorthand if the name allows it. A name may be as long as the value. */
export function locationPath(location: readonly PathStep[]): string {
  let path = '$'
  for (const step of location) {
    if (typeof step === 'number') path += `[${step}]`
    else path += SHORTHAND_NAME.test(step) ? `.${step}` : `['${escapeName(step)}']`
  }
  return path
}

const MAX_EXPRESSION_LENGTH = 1_024
const SHORTHAND_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Only parses: the queries are evaluated by `compileWalk`. */
const environment = new JSONPathEnvironment()

/** The names and indices of a singular query; null for any other. */
function singularSteps(query: JSONPathQuery): PathStep[] | null {
  if (!query.singularQuery()) return null
  const steps: PathStep[] = []
  for (const segment of query.segments) {
    const selector = segment.selectors[0]
    if (selector instanceof jsonpath.selectors.NameSelector) steps.push(selector.name)
    else if (selector instanceof jsonpath.selectors.IndexSelector) steps.push(selector.index)
    else return null
  }
  return steps
}

/** Most paths of contracts: a walk over own properties, without the query machinery. */
function directPath(expression: string, steps: readonly PathStep[]): CompiledPath {
  const first = (root: JsonValue): JsonValue | undefined => {
    let value: JsonValue | undefined = root
    for (const step of steps) {
      value = child(value, step)
      if (value === undefined) return undefined
    }
    return value
  }
  const visit: CompiledPath['visit'] = (root, found) => {
    const location: PathStep[] = []
    let value: JsonValue = root
    for (const step of steps) {
      const next = child(value, step)
      if (next === undefined) return false
      location.push(typeof step === 'number' && step < 0 ? (value as JsonValue[]).length + step : step)
      value = next
    }
    return found(value, location)
  }
  return {
    expression,
    singular: true,
    steps,
    visit,
    first,
    find(root) {
      const value = first(root)
      return value === undefined ? [] : [value]
    },
    nodes(root) {
      const nodes: PathNode[] = []
      visit(root, (value, location) => {
        nodes.push({ path: locationPath(location), location, value })
        return false
      })
      return nodes
    },
  }
}

function child(value: JsonValue, step: PathStep): JsonValue | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) return typeof step === 'number' ? value.at(step) : undefined
  return typeof step === 'string' && Object.hasOwn(value, step) ? value[step] : undefined
}

function queryPath(expression: string, query: JSONPathQuery): CompiledPath {
  const follow = compileWalk(query)
  const visit: CompiledPath['visit'] = (root, found) => {
    const location: PathStep[] = []
    return follow({ root, location }, root, (value) => found(value, location))
  }
  return {
    expression,
    singular: false,
    steps: null,
    visit,
    find(root) {
      const values: JsonValue[] = []
      visit(root, (value) => {
        values.push(value)
        return false
      })
      return values
    },
    first(root) {
      let first: JsonValue | undefined
      visit(root, (value) => {
        first = value
        return true
      })
      return first
    },
    nodes(root) {
      const nodes: PathNode[] = []
      visit(root, (value, location) => {
        nodes.push({ path: locationPath(location), location: [...location], value })
        return false
      })
      return nodes
    },
  }
}

/** As the normalized paths of RFC 9535 escape a name. */
function escapeName(name: string): string {
  return JSON.stringify(name).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
}
