/**
 * Whether a text contains a part. The runtime's own search takes time in the product of both lengths for parts such as
 * `aaabaaa`, seconds for a long one, so only short parts are left to it.
 */
export function finder(part: string): (text: string) => boolean {
  if (part.length <= SHORT_PART) return (text) => text.includes(part)
  const borders = bordersOf(part)
  return (text) => {
    let matched = 0
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      while (matched > 0 && code !== part.charCodeAt(matched)) matched = borders[matched - 1] as number
      if (code === part.charCodeAt(matched)) matched++
      if (matched === part.length) return true
    }
    return false
  }
}

const SHORT_PART = 16

/** For each beginning of the part, how much of its end is also a beginning (Knuth, Morris and Pratt). */
function bordersOf(part: string): Int32Array {
  const borders = new Int32Array(part.length)
  for (let at = 1, matched = 0; at < part.length; at++) {
    while (matched > 0 && part.charCodeAt(at) !== part.charCodeAt(matched)) matched = borders[matched - 1] as number
    if (part.charCodeAt(at) === part.charCodeAt(matched)) matched++
    borders[at] = matched
  }
  return borders
}
