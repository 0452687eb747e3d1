import type { PageEnd } from '../base/time-cursor.js'
import type { Queryable } from '../postgres/sql.js'

type Fragment = ReturnType<Queryable>

/** The column `page_at` of a listed record. */
export const pageTime = (sql: Queryable, time: Fragment): Fragment =>
  sql`(extract(epoch from ${time}) * 1000000)::bigint::text as page_at`

/** The pair behind which the next page begins. Seconds apart: of the year 9999 a float cannot hold the microseconds. */
export const pageEnd = (sql: Queryable, { at, id }: PageEnd): Fragment =>
  sql`('epoch'::timestamptz + ${at}::text::bigint / 1000000 * interval '1 second'
    + ${at}::text::bigint % 1000000 * interval '1 microsecond', ${id})`
