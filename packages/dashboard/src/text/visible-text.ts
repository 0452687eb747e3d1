/** A piece of text, or the name of one unsafe character in its place. */
export interface TextPart {
  readonly text: string
  readonly escaped: boolean
}

// Control characters, bidirectional overrides and isolates, zero-width and other invisible characters, lone surrogates.
const ACTING =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it must find
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|\p{Cs}|[\u{e0000}-\u{e007f}]/gu

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
