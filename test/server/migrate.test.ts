import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { connect } from '../../packages/server/src/postgres/database.js'
import { firstAnswer } from '../../packages/server/src/postgres/first-answer.js'
import { migrate } from '../../packages/server/src/postgres/migrate.js'
import { createEmptyDatabase, type TestDatabase } from '../support/database.js'

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

test('an address that leads to something else than PostgreSQL is told after a while', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const sql = connect({ url: `postgres://u:p@127.0.0.1:${(other.address() as AddressInfo).port}/x` }, { max: 1 })
  try {
    await expect(firstAnswer(sql, 200)).rejects.toThrow('no PostgreSQL answered within 0.2 s: check host, port')
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

test('a migration that fails leaves nothing of its run behind', async () => {
  const { url } = await emptyDatabase()
  const broken = await folderWith({ '0001_one.sql': 'create table one ()', '0002_two.sql': 'create table two (' })
  await expect(migrate(url, broken)).rejects.toThrow(/syntax error/)
  const sql = connect({ url }, { max: 1 })
  const tables = await sql`select 1 from pg_tables where schemaname = 'public'`
  await sql.end()
  expect(tables).toHaveLength(0)
})

test('contracts that people wrote before plans kept them apart are told from those of rejected plans', async () => {
  const { url } = await emptyDatabase()
  const all = (await readdir('packages/server/migrations')).sort()
  const texts = await Promise.all(all.map((file) => readFile(join('packages/server/migrations', file), 'utf8')))
  const known = all
    .map((file, at) => [file, texts[at] ?? ''] as const)
    .filter(([file]) => Number(file.slice(0, 4)) <= 10)
  await migrate(url, await folderWith(Object.fromEntries(known)))
  const sql = connect({ url }, { max: 1 })
  await sql`insert into tenants (tenant_id, name) values ('t', 't')`
  for (const [tool, state] of [
    ['kept', 'approved'],
    ['refused', 'rejected'],
    ['unknown', null],
  ] as const) {
    const file = { file: `${tool}.yaml`, text: `tool: ${tool}` }
    await sql`
      insert into customer_contracts (tenant_id, agent, tool_name, file, text, written_at)
      values ('t', 'a', ${tool}, ${file.file}, ${file.text}, now())`
    if (state === null) continue
    await sql`
      insert into governance_plans
        (tenant_id, plan_id, agent, environment, state, compiled_hash, origin, files, contracts, created_at)
      values ('t', ${`plan_${tool}`}, 'a', 'production', ${state}, 'h', 'submitted',
        ${JSON.stringify([file])}::text::json, 1, now())`
  }
  await migrate(url)
  const rows = await sql`select tool_name, plan_id from customer_contracts order by tool_name`
  await sql.end()
  expect(rows.map((row) => [row.toolName, row.planId])).toEqual([
    ['kept', 'plan_kept'],
    ['unknown', ''],
  ])
})
