import type { Tx } from '../../../packages/server/src/postgres/sql.js'
import { PLANS } from '../../../packages/server/src/store/archives/archived-rows.js'

/** Inserts rows of one table, each as PostgreSQL writes it as JSON. A plan may be there. */
export async function insertRows(tx: Tx, table: string, rows: readonly string[]): Promise<void> {
  const [first] = rows
  if (first === undefined) return
  // By their names: columns that came later get their default.
  const columns = tx(Object.keys(JSON.parse(first) as object))
  await tx`
    insert into ${tx(table)} (${columns})
    select ${columns} from json_populate_recordset(null::${tx(table)}, ${`[${rows.join()}]`}::text::json)
    ${table === PLANS ? tx`on conflict do nothing` : tx``}`
}
