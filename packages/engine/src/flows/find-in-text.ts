import { UNSPACED } from '../json/value-kind.js'

/**
 * How a value occurs in a text: null if not as a whole word, `line` if it has a line, a labelled line or a list item to
 * itself, `prose` if it is among other words. `written` is the text before case folding.
 */
export function findInText(text: string, value: string, written = text): 'line' | 'prose' | null {
  let found: 'prose' | null = null
  let from = 0
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const at = text.indexOf(value, from)
    if (at === -1) return found
    const end = at + value.length
    if (isWhole(written.length === text.length ? written : text, at, end)) {
      if (standsAlone(text, at, end)) return 'line'
      found = 'prose'
    }
    from = at + 1
  }
  return found ?? 'prose'
}

/** Text that repeats the value this often counts as prose. */
const MAX_TRIES = 1_000
const WORD = /[\p{L}\p{N}_]/u
const JOINED = new RegExp(UNSPACED, 'u')
/** Characters that continue an address or identifier if a word character follows. */
const JOINER = /[@/.:=&?#%+~-]/

function isWhole(text: string, at: number, end: number): boolean {
  return !goesOn(text, at - 1, -1) && !goesOn(text, end, 1)
}

/**
 * True if the character at `at`, going away from the value, belongs to the same word or address. A full stop does not,
 * nor do letters of a script without spaces, where a word may end anywhere.
 */
function goesOn(text: string, at: number, step: 1 | -1): boolean {
  const next = text[at]
  if (next === undefined || JOINED.test(next)) return false
  if (WORD.test(next)) return true
  const beyond = text[at + step]
  if (!JOINER.test(next) || beyond === undefined || !WORD.test(beyond)) return false
  return !(next === '.' && step === 1 && /\p{Lu}/u.test(beyond))
}

const CONTEXT = 120
const BEFORE_ALONE = /^\s*(?:[-*•>]+|\d{1,3}[.)])?\s*(?:[^:\n]{1,60}:\s*)?["'`*_([<]*$/
const AFTER_ALONE = /^["'`*_)\]>]*[.,;!]?\s*$/
const BEFORE_ITEM = /[,;|\t]\s*["'`]?$/
const AFTER_ITEM = /^["'`]?\s*[,;|\t]/

function standsAlone(text: string, at: number, end: number): boolean {
  const lineStart = text.lastIndexOf('\n', at - 1) + 1
  const nextBreak = text.indexOf('\n', end)
  const lineEnd = nextBreak === -1 ? text.length : nextBreak
  const before = text.slice(Math.max(lineStart, at - CONTEXT), at)
  const after = text.slice(end, Math.min(lineEnd, end + CONTEXT))
  const opens = at - lineStart <= CONTEXT && BEFORE_ALONE.test(before)
  const closes = lineEnd - end <= CONTEXT && AFTER_ALONE.test(after)
  return (opens || BEFORE_ITEM.test(before)) && (closes || AFTER_ITEM.test(after))
}
