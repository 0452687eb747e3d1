import type { Queryable, Sql, Tx } from '../postgres/sql.js'
import { type Reference, referencedFirst } from './referenced-first.js'

/**
 * Where the rows lie when Citus divides the tables over machines: those of a tenant all on one, so that its requests are
 * answered there.
 */

/** The table that finds a tenant: every machine has all of it. */
export const DIRECTORY = 'directory'

/** Tables of no tenant, which stay where the service connects to, and how often they are written. No turn writes them. */
export const OF_NO_TENANT: ReadonlyMap<string, string> = new Map([
  ['decision_counts_until', 'one row, once a minute'],
  ['jobs', 'a row for each job, when it runs'],
  ['ledger_seals', 'a row for each batch of signed heads'],
  ['ledger_signing', 'one row, with each batch'],
  ['schema_migrations', 'by upgrades'],
])

/** Divided by another column: the owner of a bucket is the tenant in every turn, so that it lies where the tenant lies. */
const OTHER_COLUMN: ReadonlyMap<string, string> = new Map([['buckets', 'owner']])

/** The table that all others lie beside. */
const FIRST = 'tenants'

export interface Placed {
  readonly table: string
  /** The column that says which machine holds a row. Null: every machine holds all rows. */
  readonly by: string | null
}

/** Why the tables cannot be divided. The message says what to do. */
export class DistributionError extends Error {
  override name = 'DistributionError'
}

/** Where each table belongs that does not stay where it is, each after those that its rows refer to. */
export async function placeTables(sql: Queryable): Promise<Placed[]> {
  const found = await sql<{ table: string; hasTenant: boolean }[]>`
    select c.relname as table,
      exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped) as has_tenant
    from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' order by c.relname`
  const references = await sql<Reference[]>`
    select f.relname as from, t.relname as to
    from pg_constraint k join pg_class f on f.oid = k.conrelid join pg_class t on t.oid = k.confrelid
    where k.contype = 'f' and k.conrelid <> k.confrelid and f.relnamespace = current_schema()::regnamespace`
  const placed = found
    .filter(({ table }) => !OF_NO_TENANT.has(table))
    .map(({ table, hasTenant }): Placed => {
      if (table === DIRECTORY) return { table, by: null }
      const by = OTHER_COLUMN.get(table) ?? (hasTenant ? 'tenant_id' : undefined)
      if (by !== undefined) return { table, by }
      throw new DistributionError(`${table} has no tenant_id and is no table of Countersign: move it to another schema`)
    })
  const order = ({ table }: Placed) => (table === FIRST ? 0 : 1)
  return referencedFirst(
    placed.toSorted((a, b) => order(a) - order(b)),
    references,
  )
}

/** Whether Citus has divided the tables of this database. */
export async function isDivided(sql: Queryable): Promise<boolean> {
  return (await hasCitus(sql)) && (await placedTables(sql)).has(FIRST)
}

async function hasCitus(sql: Queryable): Promise<boolean> {
  const [citus] = await sql<
    { there: boolean }[]
  >`select to_regclass('pg_catalog.pg_dist_partition') is not null as there`
  return citus?.there === true
}

/** The tables that Citus divides or copies, not those that it only knows of. */
async function placedTables(sql: Queryable): Promise<ReadonlySet<string>> {
  const rows = await sql<{ table: string }[]>`
    select c.relname as table from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
    where c.relnamespace = current_schema()::regnamespace and (p.partmethod, p.repmodel) <> ('n', 's')`
  return new Set(rows.map(({ table }) => table))
}

/** The oldest major version that was tried. */
const OLDEST = 13

/** Throws where there is no Citus that could divide the tables. */
export async function requireCitus(sql: Queryable): Promise<void> {
  const [found] = await sql<{ created: string | null; available: boolean }[]>`
    select (select extversion from pg_extension where extname = 'citus') as created,
      exists (select from pg_available_extensions where name = 'citus') as available`
  if (found === undefined || found.created === null) {
    throw new DistributionError(
      found?.available
        ? 'the extension citus is installed and this database does not have it: run "create extension citus" in it, on every machine'
        : 'this PostgreSQL has no extension citus: the tables stay on one machine, which is what most installations need',
    )
  }
  if (Number.parseInt(found.created, 10) < OLDEST) {
    throw new DistributionError(
      `Citus ${found.created} is too old: the service was tried on ${OLDEST}.0; upgrade it, or update the extension in this database ("alter extension citus update")`,
    )
  }
  const nodes = await sql`select 1 from pg_dist_node where isactive and shouldhaveshards and noderole = 'primary'`
  if (nodes.length === 0) {
    throw new DistributionError(
      `no machine may hold rows: add workers with "select citus_add_node('HOST', 5432)" on the coordinator`,
    )
  }
}

type Say = (step: string) => void

/** Divides what is not divided yet, with the rows in it, and says each step. Nothing where all is done. */
export async function divide(sql: Sql, say: Say): Promise<void> {
  const missing = await missingTables(sql)
  // One by one: what is done stays done when the next one fails.
  for (const one of missing) await sql.begin((tx) => place(tx, one, say))
  await sql.begin((tx) => placeFunctions(tx, say))
  // What was copied is still on the coordinator's disk, until nothing there refers to it any more.
  for (const { table } of missing.toReversed())
    await sql`select truncate_local_data_after_distributing_table(${table}::text::regclass)`
}

/** What a migration has made, in its transaction. */
export async function placeNewTables(tx: Tx): Promise<void> {
  for (const one of await missingTables(tx)) await place(tx, one, () => {})
  await placeFunctions(tx, () => {})
}

async function missingTables(sql: Queryable): Promise<Placed[]> {
  const placed = await placedTables(sql)
  return (await placeTables(sql)).filter(({ table }) => !placed.has(table))
}

async function place(tx: Tx, { table, by }: Placed, say: Say): Promise<void> {
  tx.waitForAnswers()
  // Otherwise Citus takes in every table that refers to this one, and refuses to divide them later.
  await tx`set local citus.enable_local_reference_table_foreign_keys to off`
  if (by === null) await tx`select create_reference_table(${table}::text::regclass)`
  else {
    const beside = table === FIRST ? 'none' : FIRST
    await tx`select create_distributed_table(${table}::text::regclass, ${by}, colocate_with => ${beside})`
  }
  say(by === null ? `${table}: on every machine` : `${table}: by ${by}`)
}

async function placeFunctions(tx: Tx, say: Say): Promise<void> {
  for (const name of await undividedFunctions(tx)) {
    await tx`select create_distributed_function(${name}::text::regprocedure, '$1', colocate_with => ${FIRST})`
    say(`${name}: where its tenant is`)
  }
}

/** Functions are called for a tenant, by their first argument. */
async function undividedFunctions(sql: Queryable): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select p.oid::regprocedure::text as name from pg_proc p
    where p.pronamespace = current_schema()::regnamespace and p.prokind = 'f' and p.pronargs > 0
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
      and not exists (
        select from pg_dist_object o
        where o.classid = 'pg_proc'::regclass and o.objid = p.oid and o.distribution_argument_index is not null)
    order by 1`
  return rows.map(({ name }) => name)
}
