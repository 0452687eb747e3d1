import { afterAll, expect, test } from 'vitest'
import { connect } from '../../../packages/server/src/postgres/database.js'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import { createTestDatabase } from '../../support/postgres/database.js'
import { proves } from '../../support/proves.js'

const database = await createTestDatabase()
const sql = connect({ url: database.url }, { max: 1 })
afterAll(async () => {
  await sql.end({ timeout: 5 })
  await database.drop()
})

/** Keys that find a tenant, and so cannot start with one: small, seldom written, and the same on every shard. */
const DIRECTORY = [
  'api_keys_key_hash_key',
  'mail_tokens_token_hash_key',
  'refresh_tokens_token_hash_key',
  'users_email_key_key',
]

/** Tables of no tenant, and how often they are written. None of them by a turn but `buckets`, by its owner. */
const OF_NO_TENANT: Readonly<Record<string, string>> = {
  buckets: 'a row for each tenant or address; unlogged',
  decision_counts_until: 'one row, once a minute',
  jobs: 'a row for each job, when it runs',
  ledger_seals: 'a row for each batch of signed heads',
  ledger_signing: 'one row, with each batch',
  schema_migrations: 'by upgrades',
}

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
  const isDivided = ({ table }: { table: string }) => OF_NO_TENANT[table] === undefined
  return [
    ...keyless.filter(isDivided).map(({ table }) => `${table} has no primary key`),
    ...keys
      .filter((key) => isDivided(key) && key.first !== 'tenant_id' && !DIRECTORY.includes(key.key))
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
  expect([...DIRECTORY, ...Object.keys(OF_NO_TENANT)].filter((name) => !there.has(name))).toEqual([])
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
