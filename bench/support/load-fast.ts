import type { Sql } from '../../packages/server/src/postgres/sql.js'

/**
 * Stores what a benchmark needs without waiting for the disk, then does what autovacuum would have done long before. A
 * crash meanwhile costs a new run, nothing else.
 */
export async function loadFast(sql: Sql, store: () => Promise<void>): Promise<void> {
  await set(sql, { fsync: 'off', full_page_writes: 'off', max_wal_size: "'8GB'" })
  try {
    await store()
    await sql`vacuum analyze`
  } finally {
    await set(sql, { fsync: 'default', full_page_writes: 'default', max_wal_size: 'default' })
  }
}

async function set(sql: Sql, settings: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(settings)) await sql.unsafe(`alter system set ${name} = ${value}`)
  await sql`select pg_reload_conf()`
}
