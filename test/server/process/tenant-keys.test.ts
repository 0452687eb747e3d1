import { afterAll, expect, test } from 'vitest'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import { distributionOf } from '../../../packages/server/src/process/operator.js'
import { DIRECTORY, OF_NO_TENANT } from '../../../packages/server/src/schema/distribution.js'
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
  const isDivided = ({ table }: { table: string }) => !OF_NO_TENANT.has(table)
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
  expect([...DIRECTORY, ...OF_NO_TENANT.keys()].filter((name) => !there.has(name))).toEqual([])
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

/** The functions of Citus, as far as they refuse: what is not placed in its turn, or has a key beyond its machine. */
const CITUS = `
  create schema citus;
  create table citus.pg_dist_partition (logicalrelid regclass primary key, by text, partmethod "char", repmodel "char");
  create function citus.place(placed regclass, divided text) returns void language plpgsql as $$
    declare wrong text;
    begin
      select k.relname into wrong from pg_index i join pg_class k on k.oid = i.indexrelid
      where divided is not null and i.indrelid = placed and i.indisunique and not exists (
        select from pg_attribute a where a.attrelid = placed and a.attname = divided and a.attnum = any (i.indkey::int2[]));
      if wrong is not null then raise '% does not hold %', wrong, divided; end if;
      select c.conname into wrong from pg_constraint c left join citus.pg_dist_partition p on p.logicalrelid = c.confrelid
      where c.contype = 'f' and c.conrelid = placed and (p.logicalrelid is null or (divided is null and p.by is not null));
      if wrong is not null then raise '% refers to a table that is not there', wrong; end if;
      insert into citus.pg_dist_partition
      values (placed, divided, case when divided is null then 'n' else 'h' end, case when divided is null then 't' else 's' end);
    end $$;
  create function citus.create_reference_table(placed regclass) returns void
    language sql as $$ select citus.place(placed, null) $$;
  create function citus.create_distributed_table(placed regclass, by text, colocate_with text) returns void
    language plpgsql as $$ begin
      if colocate_with <> 'none' and not exists (select from citus.pg_dist_partition where logicalrelid = colocate_with::regclass)
      then raise '% is not there', colocate_with; end if;
      perform citus.place(placed, by);
    end $$;`

proves('scale.distribute', 'what distribute prints places every table, and nothing is left to print', async () => {
  const config = readConfig({ DATABASE_URL: database.url })
  const statements = await distributionOf(config)
  const tables = await sql<{ name: string }[]>`select tablename as name from pg_tables where schemaname = 'public'`
  const [setting, ...placements] = statements
  expect(setting).toBe('set citus.enable_local_reference_table_foreign_keys to off;')
  const printed = placements.map((statement) => /_table\('(\w+)'/.exec(statement)?.[1])
  expect(printed.toSorted()).toEqual(tables.map(({ name }) => name).toSorted())
  expect(statements).toContain("select create_reference_table('api_keys');")
  expect(statements).toContain("select create_distributed_table('content', 'tenant_id', colocate_with => 'sessions');")
  expect(statements).toContain("select create_distributed_table('buckets', 'owner', colocate_with => 'sessions');")

  await sql.unsafe(CITUS)
  const [{ name = '' } = {}] = await sql<{ name: string }[]>`select current_database() as name`
  await sql.unsafe(`alter database ${name} set search_path = public, citus`)
  await sql.unsafe(`set search_path = public, citus; ${statements.join('\n')}`)
  expect(await distributionOf(config)).toEqual([])
})

test('the stand-in for Citus refuses a wrong order and a key beyond its machine', async () => {
  const run = (text: string) => sql.unsafe(`set search_path = wrong, citus; ${text}`)
  await expect(run(`select create_distributed_table('things', 'tenant_id', colocate_with => 'none')`)).rejects.toThrow(
    'things_pkey does not hold tenant_id',
  )
  await expect(run(`select create_reference_table('parts')`)).rejects.toThrow('parts_thing_fkey refers to a table')
})
