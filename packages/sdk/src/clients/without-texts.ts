/** The text without any occurrence of these, overlapping ones too; a line break stands for what was left out. */
export function withoutTexts(text: string, left: readonly string[]): string {
  const ranges = left.flatMap((one) => rangesOf(one, text)).toSorted(([a], [b]) => a - b)
  let kept = ''
  let at = 0
  for (const [from, to] of ranges) {
    // What stood on both sides must not become one word.
    if (from > at || at === 0) kept += `${text.slice(at, from)}\n`
    at = Math.max(at, to)
  }
  return kept + text.slice(at)
}

/** Where `one` stands in `text`, by Knuth, Morris and Pratt: a text that repeats itself takes no longer than another. */
function rangesOf(one: string, text: string): [number, number][] {
  const first = text.indexOf(one)
  if (first === -1 || one === '') return []
  const fallbacks = [0]
  for (let at = 1, length = 0; at < one.length; at++) {
    while (length > 0 && one[at] !== one[length]) length = fallbacks[length - 1] ?? 0
    if (one[at] === one[length]) length += 1
    fallbacks.push(length)
  }
  const ranges: [number, number][] = []
  for (let at = first, length = 0; at < text.length; at++) {
    while (length > 0 && text[at] !== one[length]) length = fallbacks[length - 1] ?? 0
    if (text[at] === one[length]) length += 1
    if (length < one.length) continue
    ranges.push([at + 1 - length, at + 1])
    length = fallbacks[length - 1] ?? 0
  }
  return ranges
}
