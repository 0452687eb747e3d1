import { type JsonValue, LIMITS } from '@countersign/protocol'
import { alikeProblem, isPlainName } from '../text/alike-names.js'
import { plainText } from '../text/cut-text.js'
import { endOfString, scanText } from './scan-text.js'

/** A parsed value, or why the text was refused. */
export type StrictJson = { ok: true; value: JsonValue } | { ok: false; problem: string }

/**
 * Parses I-JSON (RFC 7493). What two parsers could read differently is refused, because the rules would judge one
 * reading while the tool takes the other. With `anyData` no rule judges it, so every key and number is accepted.
 */
export function parseStrictJson(text: string, limits: JsonLimits = {}): StrictJson {
  const value = parse(text)
  return value === undefined ? NOT_JSON : checkParsed(text, value, limits)
}

interface JsonLimits {
  readonly maxDepth?: number
  readonly anyData?: boolean
  /** The names of one object must differ in more than what a reader may pass over, such as case. */
  readonly distinctNames?: boolean
}

const NOT_JSON: StrictJson = { ok: false, problem: 'the text is not JSON' }

/** Undefined where the text is not JSON. */
function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function checkParsed(text: string, value: JsonValue, limits: JsonLimits): StrictJson {
  if (!text.isWellFormed()) return { ok: false, problem: LONE_SURROGATE_PROBLEM }
  // Otherwise half a surrogate can only come from an escape, so most texts need no check of each string.
  const checks = {
    strings: text.includes('\\u'),
    data: limits.anyData !== true,
    names: limits.distinctNames === true,
  }
  const walk = walkValue(value, limits.maxDepth ?? LIMITS.jsonDepth, checks)
  if (walk.problem !== null) return { ok: false, problem: walk.problem }
  // JSON.parse keeps the last of two equal keys: the text then has more pairs than the value.
  const { pairs, doubtful } = scanText(text, checks.data)
  if (pairs !== walk.pairs) return { ok: false, problem: duplicateKeyProblem(text) }
  if (doubtful !== null) return { ok: false, problem: inexactProblem(doubtful) }
  return { ok: true, value }
}

/** Applies the same checks to a value parsed elsewhere. Returns the problem, or null if there is none. */
export function checkStrictValue(value: unknown, limits: ValueLimits = {}): string | null {
  const { maxDepth = LIMITS.jsonDepth, maxParts, distinctNames: names = false } = limits
  return walkValue(value, maxDepth, { ...ALL_CHECKS, names, ...(maxParts !== undefined && { maxParts }) }).problem
}

interface ValueLimits {
  readonly maxDepth?: number
  /** How many values it may have, in all. */
  readonly maxParts?: number
  readonly distinctNames?: boolean
}

const BACKSLASH = 0x5c
/** JSON writes NUL in only one way; a backslash before it that is itself escaped makes it plain text. */
const ESCAPED_NUL = '\\u0000'

/** Whether a string in a JSON text contains the character NUL. */
export function holdsNul(json: string): boolean {
  for (let at = json.indexOf(ESCAPED_NUL); at !== -1; at = json.indexOf(ESCAPED_NUL, at + 1)) {
    let first = at
    while (json.charCodeAt(first - 1) === BACKSLASH) first--
    if ((at - first) % 2 === 0) return true
  }
  return false
}

/** Keys that reach an object's prototype in careless code, ours or the tool's. */
export const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Most keys are shorter and need not be looked up. */
const SHORTEST_FORBIDDEN = 9

const LONE_SURROGATE_PROBLEM = 'a string holds half of a surrogate pair'

/** A value in memory may share parts, so its size is bounded here and not by the length of a text. */
const MAX_NODES = 1_000_000

/** What is checked besides the nesting. */
interface Checks {
  readonly strings: boolean
  /** Keys, and numbers that not every parser can represent. */
  readonly data: boolean
  /** Names of one object that a reader may take for the same. */
  readonly names: boolean
  readonly maxParts?: number
}

const ALL_CHECKS: Checks = { strings: true, data: true, names: false }

interface Walk {
  problem: string | null
  /** How many key and value pairs the objects have together. */
  pairs: number
}

/** Level by level, without recursion: depth is the number of levels, and no nesting can overflow the stack. */
function walkValue(root: unknown, maxDepth: number, checks: Checks): Walk {
  const { maxParts = MAX_NODES } = checks
  let pairs = 0
  let nodes = 1
  const fail = (problem: string): Walk => ({ problem, pairs })
  const rootProblem = scalarProblem(root, checks)
  if (rootProblem !== null) return fail(rootProblem)
  let level: object[] = typeof root === 'object' && root !== null ? [root] : []
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxDepth) return fail(`the nesting is deeper than ${maxDepth}`)
    const next: object[] = []
    for (const container of level) {
      const isArray = Array.isArray(container)
      if (!isArray && !isPlain(container)) return fail('an object is not plain JSON')
      const keys = isArray ? null : Object.keys(container)
      const length = keys === null ? (container as unknown[]).length : keys.length
      nodes += length
      if (nodes > maxParts) return fail(`the value has more than ${maxParts} parts`)
      if (keys !== null) pairs += length
      let mayBeAlike = false
      for (let at = 0; at < length; at++) {
        const key = keys === null ? at : (keys[at] as string)
        if (typeof key === 'string') {
          if (checks.data && key.length >= SHORTEST_FORBIDDEN && FORBIDDEN_KEYS.has(key))
            return fail(`the key "${key}" is not allowed`)
          if (checks.strings && !key.isWellFormed()) return fail(LONE_SURROGATE_PROBLEM)
          if (checks.names && !mayBeAlike) mayBeAlike = !isPlainName(key)
        }
        const child = (container as Record<string | number, unknown>)[key]
        if (typeof child === 'object' && child !== null) next.push(child)
        else {
          const problem = scalarProblem(child, checks)
          if (problem !== null) return fail(problem)
        }
      }
      if (mayBeAlike && keys !== null && length > 1) {
        const problem = alikeProblem(keys)
        if (problem !== null) return fail(problem)
      }
    }
    level = next
  }
  return { problem: null, pairs }
}

function scalarProblem(value: unknown, checks: Checks): string | null {
  switch (typeof value) {
    case 'string':
      return checks.strings && !value.isWellFormed() ? LONE_SURROGATE_PROBLEM : null
    case 'number':
      if (!Number.isFinite(value)) return 'a number is beyond what a double can hold'
      // Every double of this size is an integer, and not every integer of this size is a double.
      return checks.data && Math.abs(value) > Number.MAX_SAFE_INTEGER ? 'an integer is beyond 2^53 - 1' : null
    case 'boolean':
    case 'object':
      return null
    default:
      return `a value is ${typeof value}, which JSON cannot write`
  }
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function inexactProblem(digits: string): string {
  const what = Number(digits) === 0 ? 'is too small for a double' : 'has more digits than a double can hold'
  return `the number ${plainText(digits, SHOWN_NUMBER_LENGTH)} ${what}: round it`
}

const SHOWN_NUMBER_LENGTH = 40

const SHOWN_KEY_LENGTH = 64

/** Runs only when a duplicate is known to exist, to name it. */
function duplicateKeyProblem(text: string): string {
  const key = repeatedKey(text)
  return `the key ${plainText(key ?? '', SHOWN_KEY_LENGTH)} occurs twice in one object`
}

/** A key, in quotes, that occurs twice in one object of a JSON text; null if there is none. */
export function repeatedKey(text: string): string | null {
  const open: Set<string>[] = []
  let lastString = ''
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '"') {
      const end = endOfString(text, at)
      lastString = text.slice(at, end + 1)
      at = end
    } else if (char === '{') open.push(new Set())
    else if (char === '}') open.pop()
    else if (char === ':') {
      const key: string = JSON.parse(lastString)
      const keys = open.at(-1)
      if (keys?.has(key)) return JSON.stringify(key)
      keys?.add(key)
    }
  }
  return null
}
