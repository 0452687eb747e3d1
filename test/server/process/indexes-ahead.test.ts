import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import { MIGRATIONS, migrate } from '../../../packages/server/src/schema/migrate.js'
import { createEmptyDatabase } from '../../support/postgres/database.js'
import { proves } from '../../support/proves.js'

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

const TABLE = 'create table things (a int, b int); insert into things select n, n from generate_series(1, 100) n;'
const INDEX = 'create index if not exists things_by_a on things (a);'

async function folderWith(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-migrations-'))
  undo.push(() => rm(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}

async function emptyDatabase(): Promise<{ url: string; sql: Sql }> {
  const database = await createEmptyDatabase()
  const sql = connect({ url: database.url, lockTimeoutMs: 500 }, { max: 3 })
  undo.push(database.drop, () => sql.end())
  return { url: database.url, sql }
}

/** A table in use, the next version, and a write that has not ended: an index of the table cannot be finished before. */
async function inUse() {
  const { url, sql } = await emptyDatabase()
  await migrate(url, await folderWith({ '0001_one.sql': TABLE }))
  const next = await folderWith({ '0001_one.sql': TABLE, '0002_two.sql': INDEX })
  const writing = connect({ url }, { max: 1 })
  await writing`begin`
  await writing`insert into things values (0)`
  const endWrite = async () => {
    await writing`commit`
    await writing.end()
  }
  return { url, sql, next, endWrite }
}

const isValid = async (sql: Sql, name: string): Promise<boolean | undefined> => {
  const [row] = await sql<{ valid: boolean }[]>`
    select indisvalid as valid from pg_index where indexrelid = to_regclass(${name})`
  return row?.valid
}

const untilBuilding = (sql: Sql) => vi.waitFor(async () => expect(await isValid(sql, 'things_by_a')).toBe(false), 5_000)

proves(
  'scale.index-ahead',
  'others write while an index is built, and the version changes when it is there',
  async () => {
    const { url, sql, next, endWrite } = await inUse()
    const migrated = Promise.all([migrate(url, next), migrate(url, next)])
    await untilBuilding(sql)
    // Whoever waits for a lock of the table is given up after half a second.
    await sql`insert into things values (101)`
    expect(await sql`select max(number) as newest from schema_migrations`).toEqual([{ newest: 1 }])
    await endWrite()
    expect((await migrated).flat()).toEqual([2])
    expect(await isValid(sql, 'things_by_a')).toBe(true)
  },
)

proves('scale.index-ahead', 'an index that was interrupted is built by the next start', async () => {
  const { url, sql, next, endWrite } = await inUse()
  const interrupted = expect(migrate(url, next)).rejects.toThrow()
  await untilBuilding(sql)
  await sql`select pg_cancel_backend(pid) from pg_stat_progress_create_index where datname = current_database()`
  await interrupted
  await endWrite()
  expect(await isValid(sql, 'things_by_a')).toBe(false)
  expect((await Promise.all([migrate(url, next), migrate(url, next)])).flat()).toEqual([2])
  expect(await isValid(sql, 'things_by_a')).toBe(true)
})

test('an index of a column that a migration adds is built by the migration', async () => {
  const { url, sql } = await emptyDatabase()
  await migrate(url, await folderWith({ '0001_one.sql': TABLE }))
  const next = {
    '0001_one.sql': TABLE,
    '0002_two.sql': 'alter table things add column c int; create table others (a int);',
    '0003_three.sql': `create index if not exists things_by_c on things (c);\ncreate index if not exists others_by_a\n  on others (a);`,
  }
  expect(await migrate(url, await folderWith(next))).toEqual([2, 3])
  expect([await isValid(sql, 'things_by_c'), await isValid(sql, 'others_by_a')]).toEqual([true, true])
})

test('a text that replaces the one that was applied is not applied again', async () => {
  const { url } = await emptyDatabase()
  await migrate(url, await folderWith({ '0001_one.sql': TABLE }))
  const checksum = createHash('sha256').update(TABLE).digest('hex')
  const replacing = { '0001_one.sql': `-- replaces ${checksum}\n${TABLE}` }
  expect(await migrate(url, await folderWith(replacing))).toEqual([])
  const other = { '0001_one.sql': `-- replaces ${'0'.repeat(64)}\n${TABLE}` }
  await expect(migrate(url, await folderWith(other))).rejects.toThrow(/was changed after it was applied/)
})

test('a database that was in use has the same indexes as a new one', async () => {
  const indexesOf = (sql: Sql) => sql`select indexdef from pg_indexes where schemaname = 'public' order by 1`
  const [used, fresh] = [await emptyDatabase(), await emptyDatabase()]
  await migrate(used.url, MIGRATIONS, 1)
  await migrate(used.url)
  await migrate(fresh.url)
  expect(await indexesOf(used.sql)).toEqual(await indexesOf(fresh.sql))
})

test('of the plans that were in force before, those that promise rates are known', async () => {
  const { url, sql } = await emptyDatabase()
  await migrate(url, MIGRATIONS, 16)
  await sql`insert into tenants (tenant_id, name) values ('t', 't')`
  await sql`
    insert into plans (tenant_id, compiled_hash, compiled_session)
    values ('t', 'learned', '{"session":{"surprise":{"expected":{}}}}'), ('t', 'written', '{"session":{"surprise":{}}}')`
  await sql`
    insert into approved_plans (tenant_id, agent, environment, compiled_hash, rates_watched_at)
    values ('t', 'a', 'staging', 'learned', null), ('t', 'b', 'staging', 'learned', '2026-01-01'),
      ('t', 'c', 'staging', 'written', null)`
  await migrate(url)
  expect(
    await sql`select agent, promises_rates, rates_watched_at::text as watched from approved_plans order by agent`,
  ).toMatchObject([
    { agent: 'a', promisesRates: true, watched: '-infinity' },
    { agent: 'b', promisesRates: true, watched: expect.stringContaining('2026-01-01') },
    { agent: 'c', promisesRates: false },
  ])
})
