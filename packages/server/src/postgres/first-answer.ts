import { DatabaseUnreachable } from './gave-up.js'
import { NoPrimary } from './primary-watch.js'
import type { Sql } from './sql.js'

/** What the address leads to takes connections and does not speak as PostgreSQL does. */
export class NoPostgres extends Error {
  override name = 'NoPostgres'
}

/** Waits for a first answer. A refusal is thrown as it is. */
export async function firstAnswer(sql: Sql): Promise<void> {
  try {
    await sql`select 1`
  } catch (error) {
    if (!(error instanceof DatabaseUnreachable) || error instanceof NoPrimary) throw error
    const why = 'check host, port and sslmode in DATABASE_URL'
    throw new NoPostgres(`no PostgreSQL answered (${error.message}): ${why}`, { cause: error })
  }
}
