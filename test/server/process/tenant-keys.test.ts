import { afterAll, expect, test } from 'vitest'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import { distribute } from '../../../packages/server/src/process/operator.js'
import { DIRECTORY, OF_NO_TENANT, placeTables } from '../../../packages/server/src/schema/distribution.js'
import { createTestDatabase } from '../../support/postgres/database.js'
import { proves } from '../../support/proves.js'

const database = await createTestDatabase()
const sql = connect({ url: database.url }, { max: 1 })
afterAll(async () => {
  await sql.end({ timeout: 5 })
  await database.drop()
})

/** Where the tables of `schema` cannot be divided by tenant, in words. */
async function undividable(schema: string, from: Sql = sql): Promise<string[]> {
  const keys = await from<{ table: string; key: string; first: string | null }[]>`
    select t.relname as table, k.relname as key,
      (select attname from pg_attribute where attrelid = t.oid and attnum = i.indkey[0]) as first
    from pg_index i join pg_class t on t.oid = i.indrelid join pg_class k on k.oid = i.indexrelid
    where i.indisunique and t.relkind = 'r' and t.relnamespace = ${schema}::regnamespace`
  const keyless = await from<{ table: string }[]>`
    select relname as table from pg_class t where relkind = 'r' and relnamespace = ${schema}::regnamespace
      and not exists (select from pg_index i where i.indrelid = t.oid and i.indisprimary)`
  const references = await from<{ table: string; name: string; first: string; other: string }[]>`
    select t.relname as table, c.conname as name,
      (select attname from pg_attribute where attrelid = c.conrelid and attnum = c.conkey[1]) as first,
      (select attname from pg_attribute where attrelid = c.confrelid and attnum = c.confkey[1]) as other
    from pg_constraint c join pg_class t on t.oid = c.conrelid
    where c.contype = 'f' and t.relnamespace = ${schema}::regnamespace`
  const isDivided = ({ table }: { table: string }) => table !== DIRECTORY && !OF_NO_TENANT.has(table)
  return [
    ...keyless.filter(isDivided).map(({ table }) => `${table} has no primary key`),
    ...keys
      .filter((key) => isDivided(key) && key.first !== (key.table === 'buckets' ? 'owner' : 'tenant_id'))
      .map(({ table, key }) => `${key} of ${table} does not start with the tenant`),
    ...references
      .filter(({ first, other }) => first !== 'tenant_id' || other !== 'tenant_id')
      .map(({ table, name }) => `${name} of ${table} refers beyond the tenant`),
  ]
}

proves('scale.tenant-keys', async () => {
  expect(await undividable('public')).toEqual([])
  // What is named must be there, or the list outlives its reasons.
  const rows = await sql<
    { name: string }[]
  >`select relname as name from pg_class where relnamespace = 'public'::regnamespace`
  const there = new Set(rows.map(({ name }) => name))
  expect([DIRECTORY, 'buckets', ...OF_NO_TENANT.keys()].filter((name) => !there.has(name))).toEqual([])
})

test('the check sees a key, a reference and a table that cannot be divided', async () => {
  await sql.unsafe(`
    create schema wrong;
    create table wrong.things (id text primary key, tenant_id text not null, name text not null, unique (tenant_id, name));
    create table wrong.parts (tenant_id text, part text, thing text references wrong.things, primary key (tenant_id, part));
    create unique index parts_by_name on wrong.parts (lower(part), tenant_id);
    create table wrong.loose (tenant_id text)`)
  expect(await undividable('wrong')).toEqual([
    'loose has no primary key',
    expect.stringContaining('does not start with the tenant'),
    expect.stringContaining('does not start with the tenant'),
    'parts_thing_fkey of parts refers beyond the tenant',
  ])
})

proves('scale.distribute', async () => {
  const placed = await placeTables(sql)
  const tables = await sql<{ name: string }[]>`select tablename as name from pg_tables where schemaname = 'public'`
  expect([...placed.map(({ table }) => table), ...OF_NO_TENANT.keys()].toSorted()).toEqual(
    tables.map(({ name }) => name).toSorted(),
  )
  const by = new Map(placed.map(({ table, by }) => [table, by]))
  expect([by.get('directory'), by.get('content'), by.get('api_keys'), by.get('buckets')]).toEqual([
    null,
    'tenant_id',
    'tenant_id',
    'owner',
  ])
  // A table is divided after those that its rows refer to.
  const references = await sql<{ from: string; to: string }[]>`
    select f.relname as from, t.relname as to from pg_constraint k
    join pg_class f on f.oid = k.conrelid join pg_class t on t.oid = k.confrelid
    where k.contype = 'f' and f.relnamespace = 'public'::regnamespace and f.oid <> t.oid`
  const order = placed.map(({ table }) => table)
  expect(references.length).toBeGreaterThan(10)
  expect(references.filter(({ from, to }) => order.indexOf(from) < order.indexOf(to))).toEqual([])

  const config = readConfig({ DATABASE_URL: database.url })
  const steps: string[] = []
  await expect(distribute(config, (step) => steps.push(step))).rejects.toThrow(
    'this PostgreSQL has no extension citus: the tables stay on one machine',
  )
  expect(steps).toEqual([])
})

test('a table that is not of the service is named before anything is divided', async () => {
  await sql`create table notes (id int primary key)`
  await expect(placeTables(sql)).rejects.toThrow('notes has no tenant_id and is no table of Countersign')
  await sql`drop table notes`
})
