import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connect } from '../postgres/connect.js'
import { disableTimeouts } from '../postgres/database.js'
import { firstAnswer } from '../postgres/first-answer.js'
import type { Queryable, Sql, Tx } from '../postgres/sql.js'
import { isDivided, placeNewTables } from './distribution.js'
import { buildIndexesAhead, dropUnfinishedIndexes, hasIndexesAhead } from './indexes-ahead.js'

export interface Migration {
  number: number
  name: string
  text: string
  checksum: string
  /** Of an earlier text that made the same tables, in a line `-- replaces …`. */
  replaces: string | null
  /** Versions from this number on work beside it, as a line `-- beside 0031` promises. Null: none. */
  beside: number | null
}

/** Why a database cannot be used with this code. The message says what to do. */
export class MigrationError extends Error {
  override name = 'MigrationError'
}

/** An arbitrary number: the lock that only one migrating instance holds. */
const MIGRATION_LOCK = 4_319_001
const MIGRATION_LOCK_WAIT_MS = 120_000
const LOCK_RETRY_MS = 200

/** The folder of this code's migrations. */
export const MIGRATIONS = fileURLToPath(new URL('../../migrations/', import.meta.url))

/**
 * Brings the database to the version of this code, in one transaction, and returns the numbers it applied. Indexes of
 * tables in use are built before it. Instances that start at once wait for each other. A database newer than the code is
 * refused. `upTo` stops at an earlier version, to restore a backup that it made.
 */
export async function migrate(url: string, folder = MIGRATIONS, upTo = Number.POSITIVE_INFINITY): Promise<number[]> {
  const migrations = (await readMigrations(folder)).filter(({ number }) => number <= upTo)
  const sql = connect(
    { url, name: 'migrate', statementTimeoutMs: 0, lockTimeoutMs: MIGRATION_LOCK_WAIT_MS },
    { max: 1 },
  )
  try {
    await firstAnswer(sql)
    // PgBouncer keeps no lock beyond a transaction: behind it, migrations build their indexes themselves.
    if (!sql.isPooled() && !(await holdsNothing(sql))) await prepare(sql, migrations)
    const applied: number[] = []
    await sql.begin(async (tx) => {
      await disableTimeouts(tx, MIGRATION_LOCK_WAIT_MS)
      await tx`select pg_advisory_xact_lock(${MIGRATION_LOCK})`
      await createMigrationTable(tx)
      const pending = pendingMigrations(migrations, await loadApplied(tx))
      for (const migration of pending) {
        await apply(tx, migration)
        applied.push(migration.number)
      }
      if (applied.length > 0 && (await isDivided(tx))) await placeNewTables(tx)
    })
    return applied
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/** Builds what can be built while others write. Another instance may have done so before this one has the lock. */
async function prepare(sql: Sql, migrations: readonly Migration[]): Promise<void> {
  const pending = async () => pendingMigrations(migrations, await loadApplied(sql))
  if (!hasIndexesAhead(await pending())) return
  await lockAlone(sql)
  await buildIndexesAhead(sql, await pending())
}

/**
 * Until the connection ends. Asked again and again: an index that is built beside writes waits for every statement that
 * has begun before, and so would wait for one that waits for this lock.
 */
async function lockAlone(sql: Sql): Promise<void> {
  await sql`set lock_timeout = 0`
  for (;;) {
    const [row] = await sql<{ held: boolean }[]>`select pg_try_advisory_lock(${MIGRATION_LOCK}) as held`
    if (row?.held) return
    await setTimeout(LOCK_RETRY_MS)
  }
}

/** True for a database in which Countersign was never started. */
export async function holdsNothing(sql: Queryable): Promise<boolean> {
  const [row] = await sql<{ empty: boolean }[]>`select to_regclass('schema_migrations') is null as empty`
  return row?.empty ?? true
}

/** The oldest version that may work on the database. */
export async function oldestVersion(sql: Queryable): Promise<number> {
  const applied = await loadApplied(sql)
  return Math.max(0, ...applied.map(({ number, beside }) => beside ?? number))
}

/** The newest migration that the database holds. */
export async function databaseVersion(sql: Queryable): Promise<number> {
  const [row] = await sql<{ newest: number | null }[]>`select max(number) as newest from schema_migrations`
  return row?.newest ?? 0
}

/** The newest migration of this code. */
export async function codeVersion(): Promise<number> {
  return (await readMigrations(MIGRATIONS)).at(-1)?.number ?? 0
}

export async function readMigrations(folder: string): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
  const migrations = await Promise.all(files.map((file) => readMigration(folder, file)))
  for (const [index, migration] of migrations.entries()) {
    if (migrations[index + 1]?.number === migration.number) {
      throw new MigrationError(`two migrations have the number ${migration.number}: give one of them the next number`)
    }
  }
  return migrations
}

async function readMigration(folder: string, file: string): Promise<Migration> {
  const match = /^([0-9]{4})_([a-z0-9_]+)\.sql$/.exec(file)
  if (!match?.[1] || !match[2]) throw new MigrationError(`${file}: a migration is named 0001_what_it_makes.sql`)
  const text = await withIncluded(await readFile(`${folder}/${file}`, 'utf8'), folder)
  const checksum = createHash('sha256').update(text).digest('hex')
  const replaces = /^-- replaces ([0-9a-f]{64})$/m.exec(text)?.[1] ?? null
  const beside = /^-- beside ([0-9]{4})$/m.exec(text)?.[1]
  const number = Number(match[1])
  return { number, name: match[2], text, checksum, replaces, beside: beside === undefined ? null : Number(beside) }
}

/** As psql does it: a line `\ir PATH` stands for that file, here a function. It is released with the migration, and changes no more. */
async function withIncluded(text: string, folder: string): Promise<string> {
  const lines = text.split('\n').map((line) => {
    const path = /^\\ir (\S+)$/.exec(line)?.[1]
    return path === undefined ? line : readFile(join(folder, path), 'utf8')
  })
  return (await Promise.all(lines)).join('\n')
}

interface AppliedMigration {
  number: number
  name: string
  checksum: string
  beside: number | null
}

/** What is left to apply. Throws if the database has a migration that this code does not know, or that has changed. */
export function pendingMigrations(known: readonly Migration[], applied: readonly AppliedMigration[]): Migration[] {
  const newest = known.at(-1)?.number ?? 0
  const byNumber = new Map(known.map((migration) => [migration.number, migration]))
  for (const row of applied) {
    const migration = byNumber.get(row.number)
    if (migration && migration.name !== row.name) {
      throw new MigrationError(
        `the database was made by another line of versions: its migration ${row.number} is ${row.name}, and here it is ` +
          `${migration.name}. It cannot be upgraded. Start on an empty database, or delete this one if nothing in it is needed.`,
      )
    }
    if (!migration && row.beside !== null && row.beside <= newest) continue
    if (!migration) {
      throw new MigrationError(
        `the database is newer than this version of Countersign: it has migration ${row.number} (${row.name}), ` +
          `and the newest known here is ${newest}. Start the newer version, or restore a backup.`,
      )
    }
    if (migration.checksum !== row.checksum && migration.replaces !== row.checksum) {
      throw new MigrationError(
        `migration ${row.number} (${row.name}) was changed after it was applied to this database. ` +
          'Restore the file as it was released, and put the change into a new migration.',
      )
    }
  }
  const done = new Set(applied.map((row) => row.number))
  return known.filter((migration) => !done.has(migration.number))
}

async function createMigrationTable(tx: Tx): Promise<void> {
  await tx`
    create table if not exists schema_migrations (
      number int primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default clock_timestamp()
    )`
  await tx`alter table schema_migrations add column if not exists beside int`
}

async function loadApplied(tx: Queryable): Promise<AppliedMigration[]> {
  // By JSON: the databases of earlier versions have no column `beside`.
  return tx<AppliedMigration[]>`
    select number, name, checksum, (to_json(m) ->> 'beside')::int as beside from schema_migrations m order by number`
}

async function apply(tx: Tx, { number, name, text, checksum, beside }: Migration): Promise<void> {
  await dropUnfinishedIndexes(tx, text)
  await tx.unsafe(text)
  await tx`insert into schema_migrations (number, name, checksum, beside) values (${number}, ${name}, ${checksum}, ${beside})`
}
