import { compileRegex, type Regex } from '../text/regex.js'

/** Why a pattern can never match, so that its filter would let everything through. Null for a valid pattern. */
export function patternProblem(pattern: string): string | null {
  const regex = compilePattern(pattern, WRAPPED.match)
  return regex.ok ? null : regex.problem
}

type Wrap = (pattern: string) => string

const WRAPPED = {
  match: (pattern) => `^(?:${pattern})$`,
  search: (pattern) => pattern,
} as const satisfies Record<'match' | 'search', Wrap>

function compilePattern(pattern: string, wrap: Wrap): Regex {
  if (isIRegexp(pattern)) return compileRegex(wrap(toRe2(pattern)))
  const problem = `${JSON.stringify(pattern)} is not an I-Regexp (RFC 9485): no flags, groups with ?, lazy repeats or \\d`
  return { ok: false, problem }
}

/** Tests a text against a pattern, as `match` or `search` does. What is not text matches nothing. */
export function patternTest(name: keyof typeof WRAPPED): (text: unknown, pattern: unknown) => boolean {
  const compiled = new Map<string, Regex>()
  const regexOf = (pattern: string): Regex => {
    const known = compiled.get(pattern)
    if (known !== undefined) return known
    const regex = compilePattern(pattern, WRAPPED[name])
    if (compiled.size >= MAX_PATTERNS) compiled.clear()
    compiled.set(pattern, regex)
    return regex
  }
  return (text, pattern) => {
    if (typeof text !== 'string' || typeof pattern !== 'string') return false
    const regex = regexOf(pattern)
    return regex.ok && regex.test(text)
  }
}

/** A contract's path contains its patterns; only an unlimited path can take new ones from the data. */
const MAX_PATTERNS = 16

/** I-Regexp (RFC 9485) has no anchors, no lazy or possessive repeats, no flags or named groups, few escapes. */
function isIRegexp(pattern: string): boolean {
  return !/\(\?|[*+?}][?+]|\\(?![nrt(){}[\]|.*+?\\^$-]|[pP]\{)/.test(pattern)
}

/** The dot of I-Regexp excludes CR as well as LF; everything else means the same in RE2. */
function toRe2(pattern: string): string {
  let re2 = ''
  let inClass = false
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at] as string
    if (char === '\\') re2 += char + (pattern[++at] ?? '')
    else if (char === '.' && !inClass) re2 += '[^\\r\\n]'
    else {
      if (char === '[') inClass = true
      else if (char === ']') inClass = false
      re2 += char
    }
  }
  return re2
}
