import type { ValueKind } from '@countersign/protocol'

const NUMBER = /^[-+]?\p{Sc}?\s?(\d{1,15}|\d{1,3}([.,']\d{3})+)([.,]\d+)?\s?(%|\p{Sc}|[A-Z]{3})?$/u
/** A number long enough to be a phone or account number identifies a person. */
const NUMBERED = /^\+?\d+$/
const SHORT_NUMBER = /^\+\d{1,6}$/
const CLOCK = String.raw`\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(\s?[ap]\.?m\.?)?`
const DAY = String.raw`\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{4}-\d{2}|\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}`
const MONTH = '(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?'
const NAMED_DAY = String.raw`${MONTH} \d{1,2}(st|nd|rd|th)?(,? \d{4})?|\d{1,2}(st|nd|rd|th|\.)? ${MONTH}( \d{4})?`
const DATE = new RegExp(`^((${DAY}|${NAMED_DAY})([T ,]{1,2}(at )?${CLOCK}\\s?(Z|[-+]\\d{2}:?\\d{2})?)?|${CLOCK})$`, 'i')
const EMAIL = /^[\p{L}\p{N}_.+-]+@[\p{L}\p{N}_-]+(\.[\p{L}\p{N}_-]+)+$/u
const URL_LIKE = /^([a-z][a-z0-9+.-]*:\/\/)?([\p{L}\p{N}-]+\.)+\p{L}{2,}(:\d+)?([/?#]\S*)?$/iu

/**
 * Where a name ends and a phrase begins, and where a phrase ends and free text begins: titles and postal addresses are
 * shorter, and an instruction to an agent is longer. Scripts without spaces between words have about two letters per
 * word.
 */
const PHRASE_WORDS = 8
const PHRASE_LENGTH = 80
const PROSE_WORDS = 15
const PROSE_LENGTH = 120
const SENTENCE_WORDS = 5
const SENTENCE_MARK = /[.!?:](\s|$)|[;。！？；：]/
/** Letters of scripts written without spaces, or whose particles attach to the previous word. */
export const UNSPACED = String.raw`[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Khmr}\p{scx=Laoo}\p{scx=Mymr}]`
const UNSPACED_LETTERS = new RegExp(UNSPACED, 'gu')

/**
 * The kind of a value. Text of digits only is an id, like `13` for a file. Free text is long, has many words, or is
 * punctuated like a sentence.
 */
export function kindOf(value: string | number | boolean): ValueKind {
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'boolean'
  const text = value.trim()
  if (text === '' || text === 'null' || text === 'None') return 'empty'
  if (/^(true|false)$/i.test(text)) return 'boolean'
  if (text.length > LONGEST_READ) return 'prose'
  if (DATE.test(text)) return 'date'
  if (NUMBER.test(text) && (!NUMBERED.test(text) || SHORT_NUMBER.test(text))) return 'number'
  if (/[\n\r]/.test(text)) return 'prose'
  const spaced = /\s/.test(text)
  if (spaced && text.length > PROSE_LENGTH) return 'prose'
  const words = (spaced ? text.split(/\s+/).length : 1) + (text.match(UNSPACED_LETTERS)?.length ?? 0) / 2
  if (words >= PROSE_WORDS || (words >= SENTENCE_WORDS && SENTENCE_MARK.test(text))) return 'prose'
  if (words >= PHRASE_WORDS || (spaced && text.length > PHRASE_LENGTH)) return 'phrase'
  return spaced ? 'name' : kindOfToken(text)
}

/** Text that is longer is free text whatever it says, and is not looked at. */
const LONGEST_READ = 640

/** From this many words on, text that stands somewhere as it is was taken from there. */
const QUOTED_WORDS = 4

export function isQuotable(value: string | number): boolean {
  if (typeof value === 'number' || value.length > QUOTED_LENGTH) return false
  const letters = value.match(UNSPACED_LETTERS)?.length ?? 0
  return value.trim().split(/\s+/).length + letters / 2 >= QUOTED_WORDS
}

/** Longer text is not searched for. */
const QUOTED_LENGTH = 2_048

/** Free text or a phrase: what an argument of this kind says is worded, unless a rule says otherwise. */
export const isWorded = (kind: ValueKind): boolean => kind === 'prose' || kind === 'phrase'

function kindOfToken(text: string): ValueKind {
  if (EMAIL.test(text)) return 'email'
  if (isWebAddress(text)) return 'url'
  if (/\d/.test(text)) return 'id'
  return text.length > PHRASE_LENGTH ? 'prose' : 'name'
}

const FILE_NAME = /^[^/:]+\.(txt|pdf|docx?|xlsx?|pptx?|csv|json|ya?ml|md|png|jpe?g|gif|zip|log|html?|py|js|ts|sh)$/i
const isWebAddress = (text: string) => URL_LIKE.test(text) && !FILE_NAME.test(text)

/**
 * The form in which values are compared. Email and web addresses ignore case, and web addresses also ignore scheme,
 * `www.` and trailing slashes; everything else stays as it is.
 */
export function comparable(value: string | number, kind: ValueKind): string {
  const text = typeof value === 'number' ? String(value) : value.trim()
  if (!isAddress(kind)) return withoutSchemes(text)
  return withoutEnd(withoutSchemes(text), '/').toLowerCase()
}

export const isAddress = (kind: ValueKind): boolean => kind === 'url' || kind === 'email'

/** Text in which a `comparable` value can be found; for addresses, lower-case it first. */
export const withoutSchemes = (text: string): string => text.replaceAll(/\bhttps?:\/\/(?:www\.)?|\bwww\./gi, '')

/** Without the characters at the end. An expression such as `/[.!]+$/` takes quadratic time on a long run of them. */
function withoutEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--
  return text.slice(0, end)
}

function withoutStart(text: string, characters: string): string {
  let start = 0
  while (start < text.length && characters.includes(text.charAt(start))) start++
  return text.slice(start)
}

const TOKEN_END = '\\s"\'`<>()[\\]{},;|，。；：！？、（）「」《》'
/** One class: looking ahead at every character takes ten times as long. */
const TOKEN = new RegExp(`[^${TOKEN_END}${UNSPACED.slice(1, -1)}]+`, 'gu')
/** From this length a token is an account, an order or a key, rather than a product or a year. */
const IDENTIFIER_LENGTH = 8
const IDENTIFIER_DIGITS = 5
const SHORTEST_TOKEN = 5
/** More than the arguments of one call can contain: what is not looked at would not be judged. */
const TOKENS_LOOKED_AT = 30_000

/** Addresses and identifiers inside free text: what a reader could act on. */
export function tokensOf(text: string, limit: number): { text: string; kind: ValueKind }[] {
  const found = new Map<string, ValueKind>()
  let looked = 0
  for (const [raw] of text.matchAll(TOKEN)) {
    if (raw.length < SHORTEST_TOKEN) continue
    if (++looked > TOKENS_LOOKED_AT || found.size >= limit) break
    const token = withoutEnd(withoutStart(raw, '*_~#:.!?'), '*_~:.!?')
    const kind = tokenKind(token)
    if (kind !== null) found.set(comparable(token, kind), kind)
  }
  return [...found].map(([token, kind]) => ({ text: token, kind }))
}

/** Null for a token that is neither address nor identifier: words, amounts, dates, short codes such as `COVID-19`. */
function tokenKind(token: string): ValueKind | null {
  // Most tokens are words.
  if (token.length < SHORTEST_TOKEN || !/[@.\d]/.test(token)) return null
  if (DATE.test(token)) return null
  if (EMAIL.test(token)) return 'email'
  if (isWebAddress(token)) return 'url'
  const digits = token.replaceAll(/\D/g, '').length
  return digits >= IDENTIFIER_DIGITS && token.length >= IDENTIFIER_LENGTH && /^[\w-]+$/.test(token) ? 'id' : null
}
