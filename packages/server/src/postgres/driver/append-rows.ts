import type { Sql } from '../sql.js'

/**
 * Makes the driver add each row to the end of its result. By itself it writes rows at a count that it keeps for the
 * connection and sets back only when a statement succeeds: after one that failed among its rows, such as a list that took too
 * long, the next statement of anybody got a result whose first row was missing. A key would be unknown, an approved plan
 * not there.
 */
export function appendRows(sql: Sql): void {
  const { prototype } = sql.unsafe('').constructor as { prototype: { forEachFn?: typeof append } }
  prototype.forEachFn = append
}

/** What the driver calls for each row, where a statement has no callback of its own. */
function append(row: unknown, result: unknown[]): void {
  result.push(row)
}
