/** What a pattern compiles to. */
export interface RegexSize {
  readonly instructions: number
  /** Ranges of characters, over all instructions: compiling looks at each of them. */
  readonly ranges: number
}

/**
 * What a pattern compiles to at least, estimated from its text. Compiling a short pattern with many repeat counts takes
 * seconds, so its size must be known first. Does not check that the pattern is valid.
 */
export function leastSize(source: string): RegexSize {
  const groups: { readonly before: RegexSize; readonly own: number }[] = []
  let size = NOTHING
  /** Size of the atom that a count after it would repeat. */
  let atom = NOTHING
  let at = 0
  while (at < source.length) {
    const char = source[at]
    const count = char === '{' ? countAt(source, at) : null
    if (count !== null) {
      size = sum(size, times(atom, count.times - 1))
      atom = times(atom, count.times)
      at = count.end
    } else if (char === '(' && flagsEnd(source, at) !== -1) {
      // A count after them repeats what is before them.
      at = flagsEnd(source, at)
    } else if (char === '(') {
      groups.push({ before: size, own: CAPTURES.test(source.slice(at, at + 4)) ? INSTRUCTIONS_OF_CAPTURE : 0 })
      size = NOTHING
      at = groupStart(source, at + 1)
    } else if (char === ')') {
      const { before, own } = groups.pop() ?? { before: NOTHING, own: 0 }
      // What is empty is repeated as well: 340 times `(){0,1000}` took all memory.
      atom = { instructions: Math.max(1, size.instructions + own), ranges: size.ranges }
      size = sum(before, { instructions: size.instructions + own, ranges: size.ranges })
      at++
    } else if (source.startsWith('\\Q', at)) {
      const end = quoteEnd(source, at)
      if (end.text > at + 2) atom = CHARACTER
      size = sum(size, times(CHARACTER, end.text - at - 2))
      at = end.whole
    } else {
      const end = atomEnd(source, at)
      if (!OPERATORS.has(char ?? '') || isEmptyAlternative(source, at)) {
        atom = { instructions: 1, ranges: rangesOf(source.slice(at, end)) }
        size = sum(size, atom)
      }
      at = end
    }
  }
  return groups.reduce((all, { before }) => sum(all, before), size)
}

const NOTHING: RegexSize = { instructions: 0, ranges: 0 }
const CHARACTER: RegexSize = { instructions: 1, ranges: 1 }

const sum = (one: RegexSize, other: RegexSize): RegexSize => ({
  instructions: one.instructions + other.instructions,
  ranges: one.ranges + other.ranges,
})

const times = ({ instructions, ranges }: RegexSize, count: number): RegexSize => ({
  instructions: instructions * count,
  ranges: ranges * count,
})

/** Where it begins and where it ends. */
const INSTRUCTIONS_OF_CAPTURE = 2
const CAPTURES = /^\((?!\?)|^\(\?P?</

const isEmptyAlternative = (source: string, at: number): boolean =>
  source[at] === '|' && (at === 0 || source[at - 1] === '|' || source[at - 1] === '(')

const OPERATORS = new Set(['*', '+', '?', '|'])
const COUNT = /\{(\d{1,6})(?:,(\d{0,6}))?\}/y

function countAt(source: string, at: number): { times: number; end: number } | null {
  COUNT.lastIndex = at
  const found = COUNT.exec(source)
  if (found === null) return null
  return { times: Math.max(Number(found[1]), Number(found[2] ?? 0)), end: COUNT.lastIndex }
}

const FLAGS = /\(\?[A-Za-z-]*\)/y

/** Where flags such as `(?i)` end, or -1: they are no group. */
function flagsEnd(source: string, at: number): number {
  FLAGS.lastIndex = at
  return FLAGS.test(source) ? FLAGS.lastIndex : -1
}

const GROUP_KIND = /\?(?:P?<\w*>|[A-Za-z-]*:?)/y

/** Skips a name, flags or the mark of a non-capturing group. */
function groupStart(source: string, at: number): number {
  GROUP_KIND.lastIndex = at
  return at + (GROUP_KIND.exec(source)?.[0].length ?? 0)
}

/** Between `\Q` and `\E`, or the end of the pattern, everything stands for itself: a bracket there begins no class. */
function quoteEnd(source: string, at: number): { text: number; whole: number } {
  const end = source.indexOf('\\E', at + 2)
  return end === -1 ? { text: source.length, whole: source.length } : { text: end, whole: end + 2 }
}

/** The braces of `\p{L}` and `\x{1F}`, and everything inside a class, are not counts. */
function atomEnd(source: string, at: number): number {
  if (source[at] === '\\') return escapeEnd(source, at)
  if (source[at] !== '[') return at + 1
  let end = at + (source[at + 1] === '^' ? 2 : 1)
  // A bracket in first place belongs to the class.
  if (source[end] === ']') end++
  while (end < source.length && source[end] !== ']') {
    if (source[end] === '\\') end += 2
    else if (source.startsWith('[:', end) && source.includes(':]', end)) end = source.indexOf(':]', end) + 2
    else end++
  }
  return end + 1
}

function escapeEnd(source: string, at: number): number {
  const kind = source[at + 1] ?? ''
  const close = /[pPx]/.test(kind) && source[at + 2] === '{' ? source.indexOf('}', at) : -1
  if (close !== -1) return close + 1
  return at + (/[pP]/.test(kind) ? 3 : 2)
}

/** At most one for each character that is written, and those of its properties. */
function rangesOf(atom: string): number {
  let ranges = atom.length
  for (const [, name = '', letter = ''] of atom.matchAll(/\\p(?:\{\^?(\w*)\}|(.?))/gi))
    ranges += RANGES_OF_PROPERTY.get(name || letter) ?? MOST_RANGES_OF_PROPERTY
  return ranges
}

/** As RE2 has them, for the properties that patterns mostly name. `\P{L}` has as many as `\p{L}`. */
export const RANGES_OF_PROPERTY: ReadonlyMap<string, number> = new Map([
  ['L', 685],
  ['Lu', 656],
  ['Ll', 665],
  ['M', 328],
  ['N', 147],
  ['Nd', 73],
  ['P', 200],
  ['S', 243],
  ['Z', 9],
  ['Zs', 8],
  ['Latin', 37],
  ['Greek', 37],
  ['Cyrillic', 11],
  ['Han', 22],
])
/** `\p{C}` has the most. */
const MOST_RANGES_OF_PROPERTY = 742
