interface TextScan {
  /** The colons outside strings. */
  readonly pairs: number
  /** A number with more digits than a double can hold; null if there is none, or it was not looked for. */
  readonly doubtful: string | null
}

/** Looks at what stands outside of strings. The text is known to be JSON. */
export function scanText(text: string, numbers: boolean): TextScan {
  let pairs = 0
  let doubtful: string | null = null
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === COLON) pairs++
    else if (code === QUOTE) at = endOfString(text, at)
    else if (code <= NINE && (code >= ZERO || code === MINUS)) {
      const next = endOfNumber(text, at)
      const isLong = numbers && doubtful === null && next - at > SHORT_NUMBER
      if (isLong && !isHeld(text.slice(at, next))) doubtful = text.slice(at, next)
      at = next - 1
    }
  }
  return { pairs, doubtful }
}

/** Only from so many characters on a number can have digits that a double has not: `1e-400`. */
const SHORT_NUMBER = 5

/** The index after the number that starts at `start`. */
function endOfNumber(text: string, start: number): number {
  let at = start + 1
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code <= SPACE || code === COMMA || code === END_OF_BRACKET || code === END_OF_BRACE) break
  }
  return at
}

/**
 * Whether a double holds all the digits of a number. Programs print doubles with up to 17 of them, so that
 * 0.10000000000000001 is 0.1 to all that read doubles.
 */
function isHeld(digits: string): boolean {
  if (isExact(digits)) return true
  const [written] = bareNumber(digits).replace('-', '').split('e')
  return digits.length <= MAX_LENGTH && (written ?? '').length <= DIGITS_OF_DOUBLE && Number(digits) !== 0
}

const DIGITS_OF_DOUBLE = 17

/**
 * Whether a double is exactly the number written: 1.0 and 1e0 are 1 to every reader, while one that counts in decimals
 * takes 40.000000000000000000001 for more than 40.
 */
export function isExact(digits: string): boolean {
  if (digits.length <= PLAIN_LENGTH && !/e/i.test(digits)) return true
  if (digits.length > MAX_LENGTH) return false
  const value = Number(digits)
  const written = String(value)
  return written === digits || (Number.isFinite(value) && bareNumber(digits) === bareNumber(written))
}

const PLAIN_LENGTH = 15
const MAX_LENGTH = 400

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

/** The index of the quote that closes the string opened at `start`. */
export function endOfString(text: string, start: number): number {
  let at = text.indexOf('"', start + 1)
  while (text.charCodeAt(at - 1) === BACKSLASH && isEscaped(text, at)) at = text.indexOf('"', at + 1)
  return at
}

/** After an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let first = at
  while (text.charCodeAt(first - 1) === BACKSLASH) first--
  return (at - first) % 2 === 1
}

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const SPACE = 0x20
const MINUS = 0x2d
const COMMA = 0x2c
const [END_OF_BRACKET, END_OF_BRACE] = [0x5d, 0x7d]
const [ZERO, NINE] = [0x30, 0x39]
