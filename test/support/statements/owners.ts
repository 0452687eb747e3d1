import type { Sql } from '../../../packages/server/src/postgres/sql.js'

/** The column of each table and view that says whose a row is. The directory finds the tenant. */
export async function ownersOf(sql: Sql): Promise<Record<string, string>> {
  const rows = await sql<{ table: string }[]>`
    select table_name as table from information_schema.columns
    where table_schema = 'public' and column_name = 'tenant_id' and table_name <> 'directory'`
  return { ...Object.fromEntries(rows.map(({ table }) => [table, 'tenant_id'])), buckets: 'owner' }
}
