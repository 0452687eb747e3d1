import type { Sql } from '../postgres/sql.js'

/** False on a standby or when the database was made read-only. */
export async function isWritable(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ writable: boolean }[]>`
    select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writable`
  return row?.writable ?? false
}

/** How many events all ledgers hold, as the planner estimates it: counting them would read the whole table. */
export async function countLedgerEvents(sql: Sql): Promise<number> {
  const [row] = await sql<{ estimate: number }[]>`
    select greatest(0, reltuples)::bigint as estimate from pg_class where oid = to_regclass('session_events')`
  return row?.estimate ?? 0
}
