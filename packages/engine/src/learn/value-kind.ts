import type { ValueKind } from '@countersign/protocol'

const NUMBER = /^[-+]?[$€£]?\d{1,15}([.,]\d+)*\s?%?$/
const DATE =
  /^\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[-+]\d{2}:?\d{2})?)?)?$|^\d{1,2}:\d{2}(:\d{2})?$|^\d{1,2}[/.]\d{1,2}[/.]\d{2,4}$/
const EMAIL = /^[\w.+-]+@[\w-]+(\.[\w-]+)+$/
const URL_LIKE = /^([a-z][a-z0-9+.-]*:\/\/)?([a-z0-9-]+\.)+[a-z]{2,}(:\d+)?([/?#]\S*)?$/i
const SENTENCE_MARK = /[.!?](\s|$)|[\n\r;]|[,:] /
const PROSE_WORDS = 5
const PROSE_LENGTH = 80

/** The shape of a value. Text of digits alone names something, as `13` in a file's id. Free text is what is long, many-worded or punctuated like a sentence. */
export function kindOf(value: string | number | boolean): ValueKind {
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'boolean'
  const text = value.trim()
  if (text === '' || text === 'null' || text === 'None') return 'empty'
  if (/^(true|false)$/i.test(text)) return 'boolean'
  if (text.length > PROSE_LENGTH * 8) return 'prose'
  if (DATE.test(text)) return 'date'
  if (NUMBER.test(text) && !/^\d+$/.test(text)) return 'number'
  if (!/\s/.test(text)) return kindOfToken(text)
  if (text.length > PROSE_LENGTH || SENTENCE_MARK.test(text)) return 'prose'
  return text.split(/\s+/).length >= PROSE_WORDS ? 'prose' : 'name'
}

function kindOfToken(text: string): ValueKind {
  if (EMAIL.test(text)) return 'email'
  if (isWebAddress(text)) return 'url'
  if (/\d/.test(text)) return 'id'
  return text.length > PROSE_LENGTH ? 'prose' : 'name'
}

const FILE_NAME = /^[^/:]+\.(txt|pdf|docx?|xlsx?|pptx?|csv|json|ya?ml|md|png|jpe?g|gif|zip|log|html?|py|js|ts|sh)$/i
const isWebAddress = (text: string) => URL_LIKE.test(text) && !FILE_NAME.test(text)

/**
 * The form in which values are compared. Web and mail addresses mean the same in any case, and a web address with or
 * without scheme, `www.` and trailing slash; everything else stays as it is.
 */
export function comparable(value: string | number, kind: ValueKind): string {
  const text = typeof value === 'number' ? String(value) : value.trim()
  if (!isAddress(kind)) return withoutSchemes(text)
  return withoutSchemes(text).replace(/\/+$/, '').toLowerCase()
}

export const isAddress = (kind: ValueKind): boolean => kind === 'url' || kind === 'email'

/** Text in which a `comparable` value can be found; for addresses after lower-casing. */
export const withoutSchemes = (text: string): string => text.replaceAll(/\bhttps?:\/\/(?:www\.)?|\bwww\./gi, '')

const TOKEN = /[^\s"'`<>()[\]{},;|]+/g
const TOKENS_LOOKED_AT = 20_000
const TOKEN_LENGTH = 512

/** Addresses and identifiers inside free text: what a reader could act on. */
export function tokensOf(text: string, limit: number): { text: string; kind: ValueKind }[] {
  const found = new Map<string, ValueKind>()
  let looked = 0
  for (const [raw] of text.matchAll(TOKEN)) {
    if (++looked > TOKENS_LOOKED_AT || found.size >= limit) break
    if (raw.length > TOKEN_LENGTH) continue
    const token = raw.replace(/^[*_~#:.!?]+|[*_~:.!?]+$/g, '')
    const kind = tokenKind(token)
    if (kind !== null) found.set(comparable(token, kind), kind)
  }
  return [...found].map(([token, kind]) => ({ text: token, kind }))
}

/** Null for a token that is no address and no identifier: words, amounts, dates, short codes. Eight digits are an account. */
function tokenKind(token: string): ValueKind | null {
  if (token.length < 5) return null
  if (DATE.test(token)) return null
  if (EMAIL.test(token)) return 'email'
  if (isWebAddress(token)) return 'url'
  const digits = token.replaceAll(/\D/g, '').length
  if (/^\d{8,}$/.test(token)) return 'id'
  return digits >= 2 && token.length >= 6 && /^[\w-]+$/.test(token) && /[A-Za-z]/.test(token) ? 'id' : null
}
