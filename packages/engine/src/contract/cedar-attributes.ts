import { policyTokens } from './cedar-text.js'

/** What the `context` of a policy can have: other attributes never exist. */
export const CONTEXT_ATTRIBUTES = ['arguments', 'time'] as const
export const TIME_ATTRIBUTES = ['hour', 'minute', 'weekday', 'epoch'] as const

/**
 * Attributes that a policy reads and that cannot exist. A condition on one would be an error at every call, which
 * blocks. What the principal has is for the program to say; agents and tools have no attributes. `argumentNames`: the
 * arguments that the tool takes; null if it takes any. Reads the text, since having Cedar write out its tree takes a
 * hundred times as long: what stands in brackets, such as `(context).x`, is not seen, and blocks when it is asked.
 */
export function impossibleAttributes(policy: string, argumentNames: readonly string[] | null): string[] {
  const problems = new Set<string>()
  const attributesOf = knownAttributes(argumentNames)
  const tokens = policyTokens(policy)
  for (const [at, token] of tokens.entries()) {
    if (problems.size >= MOST_PROBLEMS) break
    if (!ROOTS.has(token) || tokens[at - 1] === '.') continue
    let from = token
    for (const attribute of chainAfter(tokens, at + 1)) {
      const names = attributesOf(from)
      if (names !== null && !names.has(attribute)) {
        problems.add(`${from}.${attribute} cannot exist: ${describeNames(names)}`)
      }
      from = `${from}.${attribute}`
    }
  }
  return [...problems]
}

const ROOTS: ReadonlySet<string> = new Set(['context', 'resource', 'action'])

/** More of them do not help a reader. */
const MOST_PROBLEMS = 20
const MOST_NAMES = 40

/** What each object of a request can have; null where it may have any. */
function knownAttributes(argumentNames: readonly string[] | null): (from: string) => ReadonlySet<string> | null {
  const known = new Map<string, ReadonlySet<string> | null>([
    ['context', new Set(CONTEXT_ATTRIBUTES)],
    ['context.time', new Set(TIME_ATTRIBUTES)],
    ['context.arguments', argumentNames === null ? null : new Set(argumentNames)],
    ['resource', new Set()],
    ['action', new Set()],
  ])
  return (from) => known.get(from) ?? null
}

function describeNames(names: ReadonlySet<string>): string {
  if (names.size === 0) return 'it has no attributes'
  const first = [...names].slice(0, MOST_NAMES).join(', ')
  return names.size > MOST_NAMES ? `it has ${first} and ${names.size - MOST_NAMES} more` : `it has ${first}`
}

/** The attributes that follow a variable: `.a.b`, `["a"]`, `has a.b`. A method is none. */
function* chainAfter(tokens: readonly string[], start: number): Iterable<string> {
  let at = start
  for (;;) {
    const [first, second = '', third] = tokens.slice(at, at + 3)
    const isHas = first === 'has'
    if (first === '[' && isPlainText(second) && third === ']') yield second.slice(1, -1)
    else if (isHas && isPlainText(second)) yield second.slice(1, -1)
    else if ((first === '.' || isHas) && /^\w/.test(second) && third !== '(') yield second
    else return
    at += first === '[' ? 3 : 2
  }
}

/** A string without escapes: an escape can write a name in another way. */
const isPlainText = (token: string): boolean => /^"[^"\\]*"$/.test(token)
