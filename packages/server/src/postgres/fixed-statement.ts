import type postgres from 'postgres'
import type { Queryable } from './sql.js'

type Value = string | number | boolean | Date | Uint8Array | null | readonly string[]
export type Values = Readonly<Record<string, Value>>

/** A statement to run with values, which may come in several groups: joining many into one object takes a while. */
export type FixedStatement<Row extends postgres.MaybeRow = postgres.Row> = (
  sql: Queryable,
  ...values: readonly Values[]
) => postgres.PendingQuery<Row[]>

/**
 * A statement whose text is put together once and not on every use: the hot path has no fragments to join, and the
 * driver finds the statement prepared. Values are named `:like_this` and each has a cast, so that their types do not
 * depend on where they stand.
 */
export function fixedStatement<Row extends postgres.MaybeRow = postgres.Row>(text: string): FixedStatement<Row> {
  const names: string[] = []
  const numbered = text.replace(/(?<!:):([a-z][a-z_]*)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  // The driver looks a statement up by its text, on every use.
  const short = numbered.replace(/\s+/g, ' ').trim()
  // Where each value was the last time: the groups of one statement mostly come in one order.
  const places = names.map(() => 0)
  return (sql, ...values) => {
    const given = names.map((name, at) => {
      const expected = values[places[at] ?? 0]?.[name]
      if (expected !== undefined) return expected as postgres.ParameterOrJSON<never>
      const place = placeOf(values, name)
      places[at] = place
      return values[place]?.[name] as postgres.ParameterOrJSON<never>
    })
    return sql.unsafe<Row[]>(short, given, { prepare: true })
  }
}

function placeOf(groups: readonly Values[], name: string): number {
  const place = groups.findIndex((group) => group[name] !== undefined)
  if (place === -1) throw new Error(`the statement needs a value for ${name}`)
  return place
}

/** One statement for each set of parts that it can have. */
export function statementByParts<Part extends string, Row extends postgres.MaybeRow = postgres.Row>(
  write: (has: (part: Part) => boolean) => string,
): (parts: readonly Part[]) => FixedStatement<Row> {
  const known = new Map<string, FixedStatement<Row>>()
  return (parts) => {
    const key = parts.join()
    const found = known.get(key) ?? fixedStatement<Row>(write((part) => parts.includes(part)))
    known.set(key, found)
    return found
  }
}

/** For `::text::json`: the driver would serialise a json parameter once more. */
export const jsonText = (value: unknown): string => JSON.stringify(value)
