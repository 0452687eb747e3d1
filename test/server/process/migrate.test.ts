import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { firstAnswer } from '../../../packages/server/src/postgres/first-answer.js'
import { migrate } from '../../../packages/server/src/schema/migrate.js'
import { createEmptyDatabase, type TestDatabase } from '../../support/postgres/database.js'

const databases: TestDatabase[] = []
const emptyDatabase = async () => {
  const database = await createEmptyDatabase()
  databases.push(database)
  return database
}
const folders: string[] = []
afterEach(async () => {
  for (const database of databases.splice(0)) await database.drop()
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true })
})

async function folderWith(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-migrations-'))
  folders.push(folder)
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}

test('an address where no PostgreSQL answers is reported', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const sql = connect({ url: `postgres://u:p@127.0.0.1:${(other.address() as AddressInfo).port}/x` }, { max: 1 })
  try {
    await expect(firstAnswer(sql)).rejects.toThrow(/no PostgreSQL answered .*: check host, port and sslmode/)
  } finally {
    await sql.end({ timeout: 0 })
    other.close()
  }
})

test('an empty database is brought to the newest version, and a second start changes nothing', async () => {
  const { url } = await emptyDatabase()
  const applied = await migrate(url)
  expect(applied).toEqual((await readdir('packages/server/migrations')).sort().map((file) => Number(file.slice(0, 4))))
  expect(await migrate(url)).toEqual([])
})

test('only what is pending is applied, in the order of the numbers', async () => {
  const { url } = await emptyDatabase()
  const one = { '0001_one.sql': 'create table one (a int)' }
  expect(await migrate(url, await folderWith(one))).toEqual([1])
  const more = {
    '0010_ten.sql': 'alter table one rename column b to c',
    '0002_two.sql': 'alter table one rename column a to b',
  }
  expect(await migrate(url, await folderWith({ ...one, ...more }))).toEqual([2, 10])
})

test('of eight instances that start at once exactly one applies each migration', async () => {
  const { url } = await emptyDatabase()
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => migrate(url)))
  expect(outcomes.filter((applied) => applied.length > 0)).toHaveLength(1)
})

test('a database newer than the code is refused, in words that name both versions', async () => {
  const { url } = await emptyDatabase()
  const newer = await folderWith({ '0001_one.sql': 'create table one ()', '0002_two.sql': 'create table two ()' })
  const older = await folderWith({ '0001_one.sql': 'create table one ()' })
  await migrate(url, newer)
  await expect(migrate(url, older)).rejects.toThrow(
    /newer than this version.*migration 2 \(two\).*newest known here is 1/,
  )
})

test('a migration that was changed after it was applied is refused', async () => {
  const { url } = await emptyDatabase()
  await migrate(url, await folderWith({ '0001_one.sql': 'create table one ()' }))
  const changed = await folderWith({ '0001_one.sql': 'create table one (a int)' })
  await expect(migrate(url, changed)).rejects.toThrow(/migration 1 \(one\) was changed after it was applied/)
})

test('a database whose migrations have other names is refused, and the message says what to do', async () => {
  const { url } = await emptyDatabase()
  await migrate(
    url,
    await folderWith({ '0001_tenants.sql': 'create table one ()', '0002_two.sql': 'create table two ()' }),
  )
  const other = await folderWith({ '0001_baseline.sql': 'create table one ()' })
  await expect(migrate(url, other)).rejects.toThrow(
    /migration 1 is tenants, and here it is baseline\. It cannot be upgraded\. Start on an empty database/,
  )
})

test('a migration that fails leaves nothing of its run behind', async () => {
  const { url } = await emptyDatabase()
  const broken = await folderWith({ '0001_one.sql': 'create table one ()', '0002_two.sql': 'create table two (' })
  await expect(migrate(url, broken)).rejects.toThrow(/syntax error/)
  const sql = connect({ url }, { max: 1 })
  const tables = await sql`select 1 from pg_tables where schemaname = 'public'`
  await sql.end()
  expect(tables).toHaveLength(0)
})
