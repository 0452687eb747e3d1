import type { Queryable, Row, Statement } from './sql.js'
import type { Value } from './values.js'

export type Values = Readonly<Record<string, Value>>

/** A statement to run with values, which may come in several groups: joining many into one object takes a while. */
export type FixedStatement<Columns extends object = Row> = (
  sql: Queryable,
  ...values: readonly Values[]
) => Statement<Columns[]>

/**
 * A statement whose text is put together once and not on every use: the hot path has no fragments to join, and the
 * driver finds the statement prepared. Values are named `:like_this` and each has a cast, so that their types do not
 * depend on where they stand.
 */
export function fixedStatement<Columns extends object = Row>(text: string): FixedStatement<Columns> {
  const names: string[] = []
  const numbered = text.replace(/(?<!:):([a-z][a-z_]*)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  // Where each value was the last time: the groups of one statement mostly come in one order.
  const places = names.map(() => 0)
  return (sql, ...values) => {
    const given = names.map((name, at) => {
      const expected = values[places[at] ?? 0]?.[name]
      if (expected !== undefined) return expected as Value
      const place = placeOf(values, name)
      places[at] = place
      return values[place]?.[name] as Value
    })
    return sql.unsafe<Columns[]>(numbered, given)
  }
}

function placeOf(groups: readonly Values[], name: string): number {
  const place = groups.findIndex((group) => group[name] !== undefined)
  if (place === -1) throw new Error(`the statement needs a value for ${name}`)
  return place
}

/** One statement for each set of parts that it can have. */
export function statementByParts<Part extends string, Columns extends object = Row>(
  write: (has: (part: Part) => boolean) => string,
): (parts: readonly Part[]) => FixedStatement<Columns> {
  const known = new Map<string, FixedStatement<Columns>>()
  return (parts) => {
    const key = parts.join()
    const found = known.get(key) ?? fixedStatement<Columns>(write((part) => parts.includes(part)))
    known.set(key, found)
    return found
  }
}

/** For a parameter `::text::json`. */
export const jsonText = (value: unknown): string => JSON.stringify(value)
