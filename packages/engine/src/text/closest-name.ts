/** The known name closest to a misspelt one; null if none is close. */
export function closestName(written: string, known: Iterable<string>): string | null {
  let best: string | null = null
  // With two of four letters changed it is another word.
  const farthest = written.length <= 4 ? 1 : Math.min(3, Math.floor(written.length / 3) + 1)
  let bestDistance = farthest + 1
  for (const name of known) {
    if (Math.abs(name.length - written.length) >= bestDistance) continue
    const distance = editDistance(written.toLowerCase(), name.toLowerCase())
    if (distance < bestDistance) {
      best = name
      bestDistance = distance
    }
  }
  return best
}

/** A fix for an unknown name: `did you mean "x"?`, or the known names. */
export function suggestName(written: string, known: Iterable<string>): string {
  const names = [...known]
  const closest = closestName(written, names)
  if (closest !== null) return `did you mean "${closest}"?`
  return names.length === 0 ? 'none is declared' : `use one of ${names.slice(0, 40).join(', ')}`
}

/** How many letters must be added, removed, changed or swapped with their neighbour. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const substitution = (last[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      const isSwap = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      const swap = isSwap ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY
      current.push(Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, substitution, swap))
    }
    beforeLast = last
    last = current
  }
  return last[b.length] ?? 0
}
