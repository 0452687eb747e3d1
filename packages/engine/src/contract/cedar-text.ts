/**
 * What is wrong with a policy before Cedar has seen it, or null. Cedar parses in one piece, in memory that is not given
 * back, and once its stack overflows the module does not answer again: neither long nor deep policies may reach it.
 */
export function policyTextProblem(policy: string): string | null {
  if (policy.length > MAX_LENGTH) return `the policy is longer than ${MAX_LENGTH} characters`
  const tokens = policyTokens(policy)
  if (tokens.length > MAX_TOKENS)
    return `the policy has ${tokens.length} words, values and signs, and may have ${MAX_TOKENS}: send long lists as attributes of the principal, or split it between the tools`
  const wrong = wrongEscape(tokens)
  if (wrong !== null) return `the policy has ${wrong} in a string, which Cedar does not know`
  if (nestsTooDeeply(tokens)) return 'the policy nests too deeply: split it into several statements'
  if (!tokens.includes('permit') && !tokens.includes('forbid'))
    return 'the policy has no statement, so it would deny everything'
  return null
}

const MAX_LENGTH = 65_536
/** Cedar takes 1 to 7 µs for each, and 20 where each fifth is an error. Ordinary policies have twenty to a few hundred. */
const MAX_TOKENS = 4_000

/** The words, strings, numbers and signs of a policy, without spaces and comments. */
export function policyTokens(policy: string): string[] {
  return (policy.match(TOKENS) ?? []).filter((token) => !token.startsWith('//'))
}

/** Strings and comments first, so that what is inside them does not count. As for Cedar, a comment ends at `\r` too. */
const TOKENS = /"(?:[^"\\]|\\[\s\S])*"?|\/\/[^\n\r]*|[A-Za-z_]\w*|\d+|[=!<>]=|&&|\|\||::|[^\s\w]/g

/** What a parsed policy keeps, in bytes. As measured, for the worst shapes. */
export const policyWeight = (policy: string): number =>
  policyTokens(policy).length * BYTES_OF_TOKEN + policy.length * BYTES_OF_CHARACTER

const BYTES_OF_TOKEN = 400
const BYTES_OF_CHARACTER = 8

/** The first part of a string that Cedar does not take, in words. It compares each with all others: 15,000 take 36 s. */
function wrongEscape(tokens: readonly string[]): string | null {
  for (const [at, token] of tokens.entries()) {
    if (!token.startsWith('"')) continue
    for (const [written] of token.matchAll(ESCAPES)) {
      if (written === '\r') return 'a carriage return, to be written as \\r,'
      if (!isKnownEscape(written) && !(written === '\\*' && tokens[at - 1] === 'like')) return `the escape ${written}`
    }
  }
  return null
}

const ESCAPES = /\r|\\(?:x[\s\S]{2}|u\{[^}]{0,12}\}|[\s\S])/g

function isKnownEscape(written: string): boolean {
  if (/^\\(?:[nrt0\\'"]|x[0-7][\da-fA-F])$/.test(written)) return true
  const digits = /^\\u\{([\da-fA-F][\da-fA-F_]*)\}$/.exec(written)?.[1]?.replaceAll('_', '') ?? ''
  const character = Number.parseInt(digits, 16)
  return digits.length <= 6 && character <= 0x10_ffff && !(character >= 0xd800 && character <= 0xdfff)
}

function nestsTooDeeply(tokens: readonly string[]): boolean {
  let level: Level = newLevel()
  const outer: Level[] = []
  for (const token of tokens) {
    if (OPENING.has(token)) {
      outer.push(level)
      level = newLevel()
    } else if (CLOSING.has(token)) {
      level = outer.pop() ?? newLevel()
      // It may have been a link of a chain: `a["b"]["c"]`.
      if (token !== '}') level.chain++
    } else if (token === ';') {
      outer.length = 0
      level = newLevel()
    } else count(level, token)
    if (sum(outer, level) > MAX_WEIGHT) return true
  }
  return false
}

/**
 * Brackets, `if`, arithmetic, member chains, and the terms and clauses that Cedar joins into one tree each cost stack; at
 * most half of what was seen to overflow it, in a thread that has not run Cedar before and on a busy machine.
 */
const MAX_WEIGHT = 60
const BRACKET_WEIGHT = 1
const OTHER_WEIGHT = 0.5
const JOINED_WEIGHT = 1

const OPENING: ReadonlySet<string> = new Set(['(', '[', '{'])
const CLOSING: ReadonlySet<string> = new Set([')', ']', '}'])
/** What ends a chain of members and of arithmetic; an annotation begins with `@`. */
const ENDING: ReadonlySet<string> = new Set(['@', '&&', '||', ',', '=', '==', '!=', '<', '<=', '>', '>='])

interface Level {
  chain: number
  ifs: number
  joined: number
}

const newLevel = (): Level => ({ chain: 0, ifs: 0, joined: 0 })

const JOINING: ReadonlySet<string> = new Set(['&&', '||', 'when', 'unless'])

function count(level: Level, token: string): void {
  if (JOINING.has(token)) level.joined++
  else if (token === ',') level.joined = 0
  if (token === 'if') level.ifs++
  else if (token === '.' || token === '+' || token === '-' || token === '*' || token === '!') level.chain++
  else if (ENDING.has(token)) level.chain = 0
}

function sum(outer: readonly Level[], level: Level): number {
  let total = outer.length * BRACKET_WEIGHT
  for (const { chain, ifs, joined } of [...outer, level]) total += (chain + ifs) * OTHER_WEIGHT + joined * JOINED_WEIGHT
  return total
}
