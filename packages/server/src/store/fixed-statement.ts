import type postgres from 'postgres'
import type { Queryable } from './database.js'

type Value = string | number | boolean | Date | Uint8Array | null | readonly string[]
export type Values = Readonly<Record<string, Value>>

/**
 * A statement whose text is put together once and not on every use: the hot path has no fragments to join, and the
 * driver finds the statement prepared. Values are named `:like_this` and each has a cast, so that their types do not
 * depend on where they stand.
 */
export function fixedStatement<Row extends postgres.MaybeRow = postgres.Row>(
  text: string,
): (sql: Queryable, values: Values) => postgres.PendingQuery<Row[]> {
  const names: string[] = []
  const numbered = text.replace(/(?<!:):([a-z][a-z_]*)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  return (sql, values) => {
    const given = names.map((name) => {
      const value = values[name]
      if (value === undefined) throw new Error(`the statement needs a value for ${name}`)
      return value as postgres.ParameterOrJSON<never>
    })
    return sql.unsafe<Row[]>(numbered, given, { prepare: true })
  }
}

/** One statement for each set of parts that it can have. */
export function statementByParts<Part extends string, Row extends postgres.MaybeRow = postgres.Row>(
  write: (has: (part: Part) => boolean) => string,
): (parts: readonly Part[]) => ReturnType<typeof fixedStatement<Row>> {
  const known = new Map<string, ReturnType<typeof fixedStatement<Row>>>()
  return (parts) => {
    const key = parts.join()
    const found = known.get(key) ?? fixedStatement<Row>(write((part) => parts.includes(part)))
    known.set(key, found)
    return found
  }
}

/** For `::text::json`: the driver would serialise a json parameter once more. */
export const jsonText = (value: unknown): string => JSON.stringify(value)
