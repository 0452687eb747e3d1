import type { Sql } from '../../../packages/server/src/postgres/sql.js'

/**
 * Lets time pass for the rows of some tables: every time in them is that much longer ago. What expires or is deleted goes by
 * PostgreSQL's clock, which no test can set.
 */
export async function passTime(sql: Sql, ms: number, tables: readonly string[]): Promise<void> {
  // Immutable, so that it also runs where a row lies on another machine.
  await sql.unsafe(`
    create or replace function earlier(at timestamptz, ms float8) returns timestamptz
    language sql immutable as 'select at - ms * interval ''1 millisecond'''`)
  for (const table of tables) {
    const columns = await sql<{ name: string }[]>`
      select column_name as name from information_schema.columns
      where table_name = ${table} and data_type = 'timestamp with time zone'`
    if (columns.length === 0) throw new Error(`${table} holds no times`)
    const earlier = columns.map(({ name }) => `${name} = earlier(${name}, $1::float8)`)
    await sql.unsafe(`update ${table} set ${earlier.join(', ')}`, [ms])
  }
}
