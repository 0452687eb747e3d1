/** Cuts text to `length` characters and marks the cut. Never leaves half of a surrogate pair at the end. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text
  const last = text.charCodeAt(length - 1)
  const isHalf = last >= 0xd800 && last <= 0xdbff
  return `${text.slice(0, isHalf ? length - 1 : length)}…`
}

/**
 * Text as a model or a person may read it: cut, and without characters that break a line, turn the direction of writing
 * or cannot be seen. Names, keys and values in it may come from a source that wants it to be read as something else.
 */
export function plainText(text: string, length: number): string {
  return cutText(text, length).replace(DECEIVING, (found) => {
    const code = found.codePointAt(0) ?? 0
    return `\\u${code.toString(16).padStart(4, '0')}`
  })
}

/** Controls, separators of lines and paragraphs, formats such as bidirectional marks, and halves of surrogate pairs. */
const DECEIVING = /[\p{Cc}\p{Zl}\p{Zp}\p{Cf}\p{Cs}]/gu
