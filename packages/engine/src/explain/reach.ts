import { componentsOf } from '../contract/components.js'

/** A set of small numbers, a bit each: thousands of sets of thousands are compared in milliseconds. */
export class NumberSet {
  private constructor(private readonly words: Uint32Array) {}

  /** An empty set for numbers below `size`. */
  static below(size: number): NumberSet {
    return new NumberSet(new Uint32Array((size + 31) >>> 5))
  }

  static of(size: number, numbers: Iterable<number>): NumberSet {
    const set = NumberSet.below(size)
    for (const number of numbers) set.add(number)
    return set
  }

  add(number: number): void {
    this.words[number >>> 5] = (this.words[number >>> 5] as number) | (1 << (number & 31))
  }

  has(number: number): boolean {
    return ((this.words[number >>> 5] as number) & (1 << (number & 31))) !== 0
  }

  addAll({ words }: NumberSet): void {
    for (let at = 0; at < words.length; at++) this.words[at] = (this.words[at] as number) | (words[at] as number)
  }

  keepOnly({ words }: NumberSet): void {
    for (let at = 0; at < words.length; at++) this.words[at] = (this.words[at] as number) & (words[at] as number)
  }

  /** The first `most` of what both hold, in ascending order. */
  common({ words }: NumberSet, most: number): number[] {
    const found: number[] = []
    for (let at = 0; at < words.length && found.length < most; at++) {
      let bits = (this.words[at] as number) & (words[at] as number)
      for (; bits !== 0 && found.length < most; bits &= bits - 1) {
        found.push(at * 32 + 31 - Math.clz32(bits & -bits))
      }
    }
    return found
  }
}

/** For each node, all nodes that ways of at least one step lead to. Nodes that lead to each other share one set. */
export function reachOf(ways: readonly (readonly number[])[]): NumberSet[] {
  const nothing = NumberSet.below(ways.length)
  const reach: NumberSet[] = ways.map(() => nothing)
  for (const component of componentsOf(ways)) {
    const next = new Set(component.flatMap((node) => ways[node] ?? []))
    if (next.size === 0) continue
    const reached = NumberSet.of(ways.length, next)
    // A node of the same component has no set yet: what it leads to is in `next` already.
    for (const set of new Set([...next].map((node) => reach[node] as NumberSet))) reached.addAll(set)
    for (const node of component) reach[node] = reached
  }
  return reach
}
