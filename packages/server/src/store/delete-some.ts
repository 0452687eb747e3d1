import type { Fragment, Queryable } from '../postgres/sql.js'

/** Deletes at most `limit` rows, so that no statement holds many for long. Returns how many went. */
export async function deleteSome(sql: Queryable, table: string, condition: Fragment, limit: number): Promise<number> {
  const rows = await sql`
    delete from ${sql(table)} where ctid = any (array(
      select ctid from ${sql(table)} where ${condition} limit ${limit}
    )) returning 1`
  return rows.length
}
