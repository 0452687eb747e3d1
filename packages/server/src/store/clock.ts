import type { Queryable } from '../postgres/sql.js'

/** The database's time, which all instances share. */
export async function readClock(sql: Queryable): Promise<Date> {
  const [row] = await sql<{ now: Date }[]>`select clock_timestamp() as now`
  if (!row) throw new Error('the database returned no time')
  return row.now
}
