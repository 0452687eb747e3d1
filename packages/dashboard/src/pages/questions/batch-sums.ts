import type { JsonObject, QuestionCard } from '@countersign/protocol'
import { valueAt } from './leaf-values.js'

/**
 * The sum of each number that the calls are asked about: of those that a rule names for people to look at, otherwise of every
 * argument that is a number. What has another currency is added up apart.
 */
export function sumsOf(cards: readonly Pick<QuestionCard, 'arguments' | 'rules'>[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { arguments: given, rules } of cards) {
    const named = rules.flatMap(({ context }) =>
      context.map(({ label, path }) => [label, valueAt(given, path)] as const),
    )
    const numbers = (entries: readonly (readonly [string, unknown])[]) =>
      entries.filter((entry): entry is readonly [string, number] => typeof entry[1] === 'number')
    const chosen = numbers(named).length > 0 ? numbers(named) : numbers(Object.entries(given))
    for (const [name, value] of new Map(chosen)) {
      const key = name + currencyOf(given)
      sums.set(key, added(sums.get(key) ?? 0, value))
    }
  }
  return sums
}

const currencyOf = ({ currency }: JsonObject): string => (typeof currency === 'string' ? ` (${currency})` : '')

/** Sums of cents are exact to the cent: 0.1 and 0.2 are 0.3. */
const added = (one: number, other: number): number => Number((one + other).toPrecision(15))
