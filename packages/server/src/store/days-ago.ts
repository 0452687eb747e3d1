import type { Queryable } from '../postgres/sql.js'

/**
 * So many times 24 hours ago by the database's clock: a process whose clock is wrong deletes nothing too early (decision
 * 0016). The same throughout a statement, so that an index finds what is older.
 */
export const daysAgo = (sql: Queryable, days: number) => sql`statement_timestamp() - ${days}::int * interval '24 hours'`
