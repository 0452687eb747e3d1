import { endOfString, repeatedKey } from './strict-json.js'

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
const PLAIN_LENGTH = 15
const MAX_LENGTH = 400

/** Whether a double is exactly the number written: 1.0 and 1e0 are 1 to every parser. */
function isExact(digits: string): boolean {
  if (digits.length <= PLAIN_LENGTH && !/e/i.test(digits)) return true
  const value = Number(digits)
  return digits.length <= MAX_LENGTH && Number.isFinite(value) && bareNumber(digits) === bareNumber(String(value))
}

/** The same text for all ways to write a number: its digits without zeros around them, and where they stand. */
function bareNumber(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = PARTS.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end--
  const places = Number(exponent) - fraction.length + digits.length - end
  return end === 0 ? '0' : `${sign}${digits.slice(0, end)}e${places}`
}

const PARTS = /^(-?)(\d*)\.?(\d*)(?:[eE](.*))?$/
