import type { Sql } from '../postgres/sql.js'
import { isDivided } from '../schema/distribution.js'

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
  if (await isDivided(sql)) return countInParts(sql)
  return row?.estimate ?? 0
}

/** Of a divided table each machine knows its parts. */
async function countInParts(sql: Sql): Promise<number> {
  const [row] = await sql<{ estimate: number }[]>`
    select coalesce(sum(greatest(0, result::float8)), 0)::bigint as estimate from run_command_on_shards(
      'session_events', $$ select reltuples from pg_class where oid = '%s'::regclass $$) where success`
  return row?.estimate ?? 0
}
