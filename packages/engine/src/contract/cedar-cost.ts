import type { JsonValue } from '@countersign/protocol'
import type { CedarRequest } from './cedar-module.js'
import { policyTokens } from './cedar-text.js'

/**
 * What asking a policy takes, in steps of judging, as measured: Cedar builds every value of the request anew, and walks
 * the whole policy. An operator may look at all of the request.
 */
export function stepsOf(policy: string): (request: CedarRequest) => number {
  const tokens = policyTokens(policy)
  const patterns = likePatterns(tokens)
  const looks = tokens.filter((token) => LOOKS.test(token)).length + starsIn(patterns) + comparisonsIn(tokens)
  const conversions = conversionsIn(tokens)
  const likeCharacters = patterns.reduce((sum, pattern) => sum + pattern.length, 0)
  return ({ context, entities }) => {
    const size = { values: 0, characters: 0 }
    measure(context, size)
    for (const { attrs } of entities) measure(attrs, size)
    const once = size.values * STEPS_OF_VALUE + size.characters * STEPS_OF_CHARACTER
    const compared = (likeCharacters * size.characters) / LIKE_COMPARISONS_PER_STEP
    return (
      STEPS_OF_QUESTION +
      policy.length * STEPS_OF_POLICY_CHARACTER +
      once +
      conversions * size.characters +
      Math.floor((looks * once) / LOOKS_PER_PASS + compared)
    )
  }
}

/** `decimal(context.arguments.a)`: where the text is no decimal, an error repeats all of it. Constants were parsed before. */
const conversionsIn = (tokens: readonly string[]): number =>
  tokens.filter((token, at) => CONVERSIONS.has(token) && tokens[at + 1] === '(' && !tokens[at + 2]?.startsWith('"'))
    .length

const CONVERSIONS: ReadonlySet<string> = new Set(['decimal', 'ip', 'datetime', 'duration'])

/** A pattern with a star may be compared from every character of a text on. */
const likePatterns = (tokens: readonly string[]): string[] =>
  tokens.filter((token, at) => tokens[at - 1] === 'like' && token.includes('*'))

const starsIn = (patterns: readonly string[]): number =>
  patterns.reduce((sum, pattern) => sum + pattern.split('*').length - 1, 0)

/**
 * Cedar sorts the items of a set such as `[principal.a, principal.b]`, and looks at all of the request to compare two of
 * them. Constants are compared in no time.
 */
function comparisonsIn(tokens: readonly string[]): number {
  let comparisons = 0
  const open: { items: number; readsRequest: boolean }[] = []
  for (const token of tokens) {
    const set = open.at(-1)
    if (token === '[') open.push({ items: 1, readsRequest: false })
    else if (set !== undefined && token === ',') set.items++
    else if (set !== undefined && VARIABLES.has(token)) set.readsRequest = true
    else if (set !== undefined && token === ']') {
      open.pop()
      if (set.readsRequest) comparisons += set.items * Math.ceil(Math.log2(set.items))
      const outer = open.at(-1)
      if (outer !== undefined) outer.readsRequest ||= set.readsRequest
    }
  }
  return comparisons
}

const VARIABLES: ReadonlySet<string> = new Set(['principal', 'action', 'resource', 'context'])

const LIKE_COMPARISONS_PER_STEP = 32

const STEPS_OF_QUESTION = 800
const STEPS_OF_POLICY_CHARACTER = 5
const STEPS_OF_VALUE = 100
const STEPS_OF_CHARACTER = 2
/** Comparing is this much faster than building. */
const LOOKS_PER_PASS = 64
/** Operators that may look at all of a value. */
const LOOKS = /^(?:==|!=|contains\w*|in|\*)$/

function measure(value: JsonValue, size: { values: number; characters: number }): void {
  size.values++
  if (typeof value === 'string') size.characters += value.length
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) for (const item of value) measure(item, size)
  else {
    for (const [key, item] of Object.entries(value)) {
      size.characters += key.length
      measure(item, size)
    }
  }
}

/**
 * Which arguments a policy can read. If it only ever reads arguments by name, it can read none whose name is no word or
 * string of it, and a long text that it never looks at need not be built in Cedar.
 */
export function readArguments(policy: string): (name: string) => boolean {
  // An escape can write a name in another way.
  if (policy.includes('\\')) return () => true
  const tokens = policyTokens(policy)
  const isNamed = tokens.every((token, at) => token !== 'context' || namesAfter(tokens.slice(at + 1, at + 5)))
  if (!isNamed) return () => true
  const names = new Set(tokens.map((token) => (token.startsWith('"') ? token.slice(1, -1) : token)))
  return (name) => names.has(name)
}

/** `.arguments.amount`, `.arguments["amount"]`, `.arguments has amount`, or `has arguments` and the end of the condition. */
function namesAfter([first, second, third = '', fourth = '']: readonly string[]): boolean {
  if (second !== 'arguments') return false
  if (first === 'has') return CONDITION_ENDS.has(third)
  if (first !== '.') return false
  if (third === '.') return /^[A-Za-z_]/.test(fourth)
  if (third === '[') return fourth.startsWith('"')
  return third === 'has' && /^["A-Za-z_]/.test(fourth)
}

const CONDITION_ENDS: ReadonlySet<string> = new Set([')', '&&', '||', '}'])
