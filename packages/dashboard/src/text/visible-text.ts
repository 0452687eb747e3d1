/** A piece of text, or the name of one unsafe character in its place. */
export interface TextPart {
  readonly text: string
  readonly escaped: boolean
}

// Control characters, lone surrogates, whatever a font draws as nothing (direction overrides and isolates, zero-width and
// filling characters, tags, variation selectors but for the one that makes an emoji), and spaces other than the usual ones.
const ACTING =
  /\p{Cc}|\p{Cs}|(?!(?<=\p{Extended_Pictographic})\ufe0f)\p{DI}|[\u2000-\u200a\u2028\u2029\u202f\u205f\u2800\ufff9-\ufffb]/gu

/** Splits untrusted text into plain parts and named unsafe characters, so that nothing is hidden or reversed. */
export function visibleText(text: string, keep: 'lines' | 'nothing' = 'nothing'): TextPart[] {
  const parts: TextPart[] = []
  let from = 0
  for (const match of text.matchAll(ACTING)) {
    if (keep === 'lines' && match[0] === '\n') continue
    if (match.index > from) parts.push({ text: text.slice(from, match.index), escaped: false })
    parts.push({ text: nameOf(match[0]), escaped: true })
    from = match.index + match[0].length
  }
  if (from < text.length) parts.push({ text: text.slice(from), escaped: false })
  return parts
}

/** The same as one string, for titles and other places without markup. */
export const plainText = (text: string): string =>
  visibleText(text)
    .map((part) => part.text)
    .join('')

function nameOf(character: string): string {
  if (character === '\n') return '\\n'
  if (character === '\t') return '\\t'
  if (character === '\r') return '\\r'
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
