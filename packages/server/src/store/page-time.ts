import type { PageEnd } from '../base/time-cursor.js'
import type { Fragment, Queryable } from '../postgres/sql.js'

/** What a list found that looks through a bounded number of records. */
export interface FoundPage<Row> {
  readonly rows: readonly Row[]
  /** Where it stopped looking, with fewer rows than were asked for: the next page goes on there. Null: at the end. */
  readonly stopped: PageEnd | null
}

/** The column `page_at` of a listed record. */
export const pageTime = (sql: Queryable, time: Fragment): Fragment => sql`${microseconds(sql, time)} as page_at`

/** As a cursor has it. */
export const microseconds = (sql: Queryable, time: Fragment): Fragment =>
  sql`(extract(epoch from ${time}) * 1000000)::bigint::text`

/** The pair behind which the next page begins. */
export const pageEnd = (sql: Queryable, end: PageEnd): Fragment => sql`(${endTime(sql, end)}, ${end.id})`

/** Seconds apart: of the year 9999 a float cannot hold the microseconds. */
export const endTime = (sql: Queryable, { at }: PageEnd): Fragment =>
  sql`'epoch'::timestamptz + ${at}::text::bigint / 1000000 * interval '1 second'
    + ${at}::text::bigint % 1000000 * interval '1 microsecond'`
