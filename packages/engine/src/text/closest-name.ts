/** The known name closest to a misspelt one; null if none is close, which is as many changes as `farthest`. */
export function closestName(
  written: string,
  known: Iterable<string>,
  // With two of four letters changed it is another word.
  farthest = written.length <= 4 ? 1 : Math.min(3, Math.floor(written.length / 3) + 1),
): string | null {
  let best: string | null = null
  let bestDistance = farthest + 1
  const letters = written.toLowerCase()
  for (const name of known) {
    if (Math.abs(name.length - written.length) >= bestDistance) continue
    const distance = editDistance(letters, name.toLowerCase(), bestDistance - 1)
    if (distance < bestDistance) {
      best = name
      bestDistance = distance
    }
  }
  return best
}

/** What is compared for a suggestion at most, in letters: a plan may declare thousands of names. */
const LETTERS_COMPARED = 16_384

/** A fix for an unknown name: `did you mean "x"?`, or the known names. */
export function suggestName(written: string, known: Iterable<string>): string {
  const names = [...known]
  const closest = closestName(written, names.slice(0, LETTERS_COMPARED / (written.length || 1)))
  if (closest !== null) return `did you mean "${closest}"?`
  return names.length === 0 ? 'none is declared' : `use one of ${names.slice(0, 40).join(', ')}`
}

/**
 * How many letters must be added, removed, changed or swapped with their neighbour, counted up to `most`. Only places that
 * few changes can reach are compared: names may be long, and a definition may hold hundreds of them.
 */
function editDistance(a: string, b: string, most: number): number {
  const tooMany = most + 1
  // Of each row the places around the diagonal: the letter of `b` is as far from that of `a` as the index from `most`.
  const places = Array.from({ length: 2 * most + 1 }, (_, place) => place)
  let beforeLast: number[] = []
  let last = places.map((place) => (place < most ? tooMany : place - most))
  for (let row = 1; row <= a.length; row++) {
    const current: number[] = []
    for (const place of places) {
      const column = row + place - most
      if (column < 1 || column > b.length) {
        current.push(column === 0 ? row : tooMany)
        continue
      }
      const substitution = (last[place] ?? tooMany) + (a[row - 1] === b[column - 1] ? 0 : 1)
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      const swap = isSwap ? (beforeLast[place] ?? tooMany) + 1 : tooMany
      const added = (current[place - 1] ?? tooMany) + 1
      const removed = (last[place + 1] ?? tooMany) + 1
      current.push(Math.min(added, removed, substitution, swap, tooMany))
    }
    if (current.every((distance) => distance > most)) return tooMany
    beforeLast = last
    last = current
  }
  return last[b.length - a.length + most] ?? tooMany
}
