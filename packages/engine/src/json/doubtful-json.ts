import { endOfString, isExact } from './scan-text.js'
import { repeatedKey } from './strict-json.js'

/** Deeper than any ledger; the check recurses. */
const MAX_DEPTH = 256

/**
 * What two JSON parsers could read differently, or one of them not at all; null if there is nothing. Unlike in
 * arguments, any key is fine: a ledger counts tools by names that models made up.
 */
export function doubtfulJson(text: string): string | null {
  const twice = repeatedKey(text)
  if (twice !== null) return `the key ${twice} occurs twice in one object`
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string
    if (char === '"') {
      const end = endOfString(text, at)
      const string = text.slice(at, end + 1)
      if (string.includes('\\u') && !(JSON.parse(string) as string).isWellFormed())
        return 'a string holds half of a surrogate pair'
      at = end
    } else if (char === '{' || char === '[') {
      if (++depth > MAX_DEPTH) return `the nesting is deeper than ${MAX_DEPTH}`
    } else if (char === '}' || char === ']') depth--
    else if (char === '-' || (char >= '0' && char <= '9')) {
      NUMBER.lastIndex = at
      const [digits = ''] = NUMBER.exec(text) ?? []
      if (!isExact(digits)) return `the number ${digits.slice(0, 40)} is none that every reader can hold`
      at += digits.length - 1
    }
  }
  return null
}

const NUMBER = /[-+.\deE]+/y
