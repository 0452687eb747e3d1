/** What V8 makes of a number in a `Set` or `Map`: the same in every process, so that anybody can compute it. */
function hashOf(number: number): number {
  let hash = number | 0
  hash = (~hash + (hash << 15)) | 0
  hash ^= hash >>> 12
  hash = (hash + (hash << 2)) | 0
  hash ^= hash >>> 4
  hash = Math.imul(hash, 2057)
  return hash ^ (hash >>> 16)
}

/** Of these all stand in one bucket of a set of up to 32,768. */
const MASK = 2 ** 14 - 1

const known: number[] = [7]
let last = 7

/** Whole numbers that a set of numbers finds by going through all of them: 7 and those that collide with it. */
export function collidingNumbers(count: number): number[] {
  const target = hashOf(7) & MASK
  while (known.length < count) {
    last += 1
    if ((hashOf(last) & MASK) === target) known.push(last)
  }
  return known.slice(0, count)
}
