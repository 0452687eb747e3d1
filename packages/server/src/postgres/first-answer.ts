import type { Sql } from './sql.js'

/** What the address leads to takes connections and does not speak as PostgreSQL does. */
export class NoPostgres extends Error {
  override name = 'NoPostgres'
}

/** Waits for a first answer. The driver throws a refusal, but would retry anything else forever. */
export async function firstAnswer(sql: Sql, patienceMs = 15_000): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<never>((_, fail) => {
    const error = new NoPostgres(
      `PostgreSQL did not answer within ${patienceMs / 1_000} s: check host, port and sslmode in DATABASE_URL`,
    )
    timer = setTimeout(() => fail(error), patienceMs)
  })
  const answer = sql`select 1`
  answer.catch(() => {})
  try {
    await Promise.race([answer, silence])
  } finally {
    clearTimeout(timer)
  }
}
