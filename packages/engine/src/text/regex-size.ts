/**
 * The least number of instructions that a pattern compiles to, estimated from its text. Compiling a short pattern with
 * many repeat counts takes seconds, so the size must be known first. Does not check that the pattern is valid.
 */
export function leastProgramSize(source: string): number {
  const groups: { readonly before: number; readonly own: number }[] = []
  let size = 0
  /** Size of the atom that a count after it would repeat. */
  let atom = 0
  let at = 0
  while (at < source.length) {
    const char = source[at]
    const count = char === '{' ? countAt(source, at) : null
    if (count !== null) {
      size += atom * (count.times - 1)
      atom *= count.times
      at = count.end
    } else if (char === '(') {
      groups.push({ before: size, own: CAPTURES.test(source.slice(at, at + 4)) ? INSTRUCTIONS_OF_CAPTURE : 0 })
      size = 0
      at = groupStart(source, at + 1)
    } else if (char === ')') {
      const { before, own } = groups.pop() ?? { before: 0, own: 0 }
      size += own
      // What is empty is repeated as well: 340 times `(){0,1000}` took all memory.
      atom = Math.max(1, size)
      size += before
      at++
    } else {
      if (!OPERATORS.has(char ?? '') || isEmptyAlternative(source, at)) {
        atom = 1
        size++
      }
      at = atomEnd(source, at)
    }
  }
  return groups.reduce((sum, { before }) => sum + before, size)
}

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

const GROUP_KIND = /\?(?:P?<\w*>|[A-Za-z-]*:?)/y

/** Skips a name, flags or the mark of a non-capturing group. */
function groupStart(source: string, at: number): number {
  GROUP_KIND.lastIndex = at
  return at + (GROUP_KIND.exec(source)?.[0].length ?? 0)
}

/** The braces of `\p{L}` and `\x{1F}`, and everything inside a class, are not counts. */
function atomEnd(source: string, at: number): number {
  if (source[at] === '\\') {
    const close = /[pPx]/.test(source[at + 1] ?? '') && source[at + 2] === '{' ? source.indexOf('}', at) : -1
    return close === -1 ? at + 2 : close + 1
  }
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
