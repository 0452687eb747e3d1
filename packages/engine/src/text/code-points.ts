/** The number of code points in a text: a surrogate pair is one. */
export function codePoints(text: string): number {
  let count = text.length
  for (let at = 1; at < text.length; at++) {
    const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00
    if (isLow && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) count--
  }
  return count
}
