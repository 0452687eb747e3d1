/** The known name that a misspelt one most likely means; null where none is near. */
export function closestName(written: string, known: Iterable<string>): string | null {
  let best: string | null = null
  let bestDistance = Math.min(3, Math.floor(written.length / 3) + 1) + 1
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

/** `did you mean "x"?` or the list of what is known. */
export function suggestName(written: string, known: Iterable<string>): string {
  const names = [...known]
  const closest = closestName(written, names)
  if (closest !== null) return `did you mean "${closest}"?`
  return names.length === 0 ? 'none is declared' : `known are ${names.slice(0, 40).join(', ')}`
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      current.push(Math.min((previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, substitution))
    }
    previous = current
  }
  return previous[b.length] ?? 0
}
