import type { Runtime } from './runtime.js'

/** The tables in which a text stands anywhere. */
export async function tablesWith({ sql }: Runtime, text: string): Promise<string[]> {
  const found: string[] = []
  const tables = await sql`select table_name from information_schema.tables where table_schema = current_schema()`
  for (const { tableName } of tables) {
    const rows = await sql`select 1 from ${sql(tableName)} t where t::text like ${`%${text}%`} limit 1`
    if (rows.length > 0) found.push(tableName)
  }
  return found
}
