import pg from 'pg'
import type { Queryable, Sql } from '../postgres/sql.js'

interface Index {
  readonly name: string
  /** What it is made on, and how. */
  readonly rest: string
}

/** How a migration says that an index may be built before its transaction, while others write. */
const AHEAD = /^create index if not exists (\w+) (on [^;]+);/gm

interface WithText {
  readonly text: string
}

export const hasIndexesAhead = (migrations: readonly WithText[]): boolean =>
  migrations.some(({ text }) => indexesOf(text).length > 0)

const indexesOf = (text: string): Index[] =>
  [...text.matchAll(AHEAD)].map(([, name = '', rest = '']) => ({ name, rest }))

/**
 * Builds the indexes of migrations that are still to come. Requests do not wait for it: a migration holds up all writes while it
 * builds one. What is missing afterwards, because its table or column is made by a migration, the migration builds.
 */
export async function buildIndexesAhead(sql: Sql, migrations: readonly WithText[]): Promise<void> {
  for (const { name, rest } of migrations.flatMap(({ text }) => indexesOf(text))) {
    if (await isUnfinished(sql, name)) await sql.unsafe(`drop index concurrently ${name}`)
    try {
      await sql.unsafe(`create index concurrently if not exists ${name} ${rest}`)
    } catch (error) {
      if (!isAboutWhatIsNotThere(error)) throw error
    }
  }
}

/** Takes away what a process that ended in the middle has left of a migration's indexes: `if not exists` would keep it. */
export async function dropUnfinishedIndexes(sql: Queryable, text: string): Promise<void> {
  for (const { name } of indexesOf(text)) {
    if (await isUnfinished(sql, name)) await sql.unsafe(`drop index ${name}`)
  }
}

async function isUnfinished(sql: Queryable, name: string): Promise<boolean> {
  const rows = await sql`select 1 from pg_index where indexrelid = to_regclass(${name}) and not indisvalid`
  return rows.length > 0
}

const UNDEFINED_TABLE = '42P01'
const UNDEFINED_COLUMN = '42703'

const isAboutWhatIsNotThere = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && [UNDEFINED_TABLE, UNDEFINED_COLUMN].includes(error.code ?? '')
