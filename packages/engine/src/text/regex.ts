import { RE2JS } from 're2js'
import { lazyDfa } from './lazy-dfa.js'
import { leastSize } from './regex-size.js'

/** A compiled RE2 pattern, or why it was refused. */
export type Regex = { ok: true; test(text: string): boolean } | { ok: false; problem: string }

const MAX_SOURCE_LENGTH = 4_096
/** `[ab]{1000}` has about 1,000 instructions. RE2 limits nested counts, but not counts in a row. */
const MAX_PROGRAM_SIZE = 2_500

/** `[\p{L}]{1000}` has 685,000: for each instruction RE2 collects the bounds of its characters, 0.1 µs each. */
const MAX_RANGES = 1_000_000

/** `\p{L}` alone is hundreds of ranges, which RE2 sorts with all others of a class: 1,300 of them take 0.7 s. */
const MAX_PROPERTIES = 100

/** Without regard to case, RE2 looks at every character of a range: up to 6 ms, and a second for 100 of them. */
const MAX_FOLDED_RANGES = 10

const TOO_LARGE: Regex = { ok: false, problem: 'the regular expression is too large: lower its repeat counts' }

/** Compiles an RE2 pattern: linear time, searched anywhere in the text unless anchored by `^` and `$`. */
export function compileRegex(source: string): Regex {
  if (source.length > MAX_SOURCE_LENGTH) {
    return { ok: false, problem: `the regular expression is longer than ${MAX_SOURCE_LENGTH} characters` }
  }
  const properties = source.match(/\\p/gi)?.length ?? 0
  if (properties > MAX_PROPERTIES) {
    const problem = `the regular expression has ${properties} Unicode properties such as \\p{L}, and may have ${MAX_PROPERTIES}`
    return { ok: false, problem }
  }
  const folded = foldedRanges(source)
  if (folded > MAX_FOLDED_RANGES) {
    const problem = `the regular expression has ${folded} ranges such as à-ÿ that ignore case, and may have ${MAX_FOLDED_RANGES}`
    return { ok: false, problem }
  }
  const { instructions, ranges } = leastSize(source)
  if (instructions > MAX_PROGRAM_SIZE || ranges > MAX_RANGES) return TOO_LARGE
  try {
    const compiled = RE2JS.compile(source)
    if (compiled.programSize() > MAX_PROGRAM_SIZE) return TOO_LARGE
    return { ok: true, test: lazyDfa(compiled) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { ok: false, problem: `RE2 does not accept the regular expression: ${reason}` }
  }
}

/** Ranges that may reach beyond ASCII, in a pattern that ignores case somewhere. */
const foldedRanges = (source: string): number =>
  /\(\?[A-Za-z-]*i/.test(source) ? (source.match(/-(?:[^\0-\x7f]|\\x)/g)?.length ?? 0) : 0
