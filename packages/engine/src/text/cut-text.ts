/** Cuts text to `length` characters and marks the cut. Never leaves half of a surrogate pair at the end. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text
  const last = text.charCodeAt(length - 1)
  const isHalf = last >= 0xd800 && last <= 0xdbff
  return `${text.slice(0, isHalf ? length - 1 : length)}…`
}
