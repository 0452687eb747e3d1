import type { Tx } from '../../../packages/server/src/postgres/sql.js'

/** How many rows of a table some work looks at, whether or not it wants them. */
export async function rowsRead(tx: Tx, table: string, work: () => Promise<unknown>): Promise<number> {
  const before = await readSoFar(tx, table)
  await work()
  return (await readSoFar(tx, table)) - before
}

/** Of this connection, since it last reported. */
async function readSoFar(tx: Tx, table: string): Promise<number> {
  const [row] = await tx<{ read: number }[]>`
    select seq_tup_read + idx_tup_fetch as read from pg_stat_xact_user_tables where relname = ${table}`
  if (row === undefined) throw new Error(`there is no table ${table}`)
  return row.read
}
