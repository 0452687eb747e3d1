import type { JsonValue } from '@countersign/protocol'
import { numberKey } from '../json/value-set.js'

/** One comparison of two plans: which of their values are equal. */
export class Comparison {
  private readonly scalars = new Map<string | boolean | null, number>()
  private readonly numbers = new Map<string, number>()
  private readonly containers = new Map<string, number>()
  private readonly known = new Map<object, number>()
  private readonly lists = new Map<object, ReadonlyMap<number, unknown>>()
  private last = 0

  /** The same number for values that are equal as JSON. Each part of a value is read once, however often it is asked for. */
  numberOf(value: JsonValue): number {
    if (typeof value === 'number') return this.numberIn(this.numbers, numberKey(value))
    if (typeof value !== 'object' || value === null) return this.numberIn(this.scalars, value)
    const known = this.known.get(value)
    if (known !== undefined) return known
    const number = this.numberIn(this.containers, this.partsOf(value))
    this.known.set(value, number)
    return number
  }

  /** The items of a list by their numbers, listed once. */
  itemsOf<Item>(list: readonly Item[]): ReadonlyMap<number, Item> {
    const known = this.lists.get(list)
    if (known !== undefined) return known as ReadonlyMap<number, Item>
    const items = new Map(list.map((item) => [this.numberOf(item as JsonValue), item]))
    this.lists.set(list, items)
    return items
  }

  /** Equal as JSON; absent equals only absent. */
  same(a: unknown, b: unknown): boolean {
    if (a === b || a === undefined || b === undefined) return a === b
    return this.numberOf(a as JsonValue) === this.numberOf(b as JsonValue)
  }

  /** Items of a list that equal none of another. */
  missing<Item>(from: readonly Item[], among: readonly Item[]): Item[] {
    if (from.length === 0 || among.length === 0) return [...from]
    const known = this.itemsOf(among)
    return from.filter((item) => !known.has(this.numberOf(item as JsonValue)))
  }

  /** How many different items of a list equal none of another, in the time that the shorter one takes. */
  countMissing(from: readonly unknown[], among: readonly unknown[]): number {
    const [own, others] = [this.itemsOf(from), this.itemsOf(among)]
    const [shorter, longer] = own.size < others.size ? [own, others] : [others, own]
    return own.size - [...shorter.keys()].filter((number) => longer.has(number)).length
  }

  /** Whether a list has all values of another. */
  allIn(values: readonly JsonValue[], list: readonly JsonValue[]): boolean {
    const known = this.itemsOf(list)
    return values.every((value) => known.has(this.numberOf(value)))
  }

  private partsOf(value: object): string {
    if (Array.isArray(value)) return `[${value.map((item) => this.numberOf(item)).join()}]`
    const object = value as Record<string, JsonValue | undefined>
    const keys = Object.keys(object)
    let parts = '{'
    for (const key of keys.length > 1 ? keys.sort() : keys) {
      const part = object[key]
      if (part !== undefined) parts += `${this.numberOf(key)}:${this.numberOf(part)},`
    }
    return parts
  }

  private numberIn<Key>(numbers: Map<Key, number>, key: Key): number {
    const known = numbers.get(key)
    if (known !== undefined) return known
    this.last++
    numbers.set(key, this.last)
    return this.last
  }
}
