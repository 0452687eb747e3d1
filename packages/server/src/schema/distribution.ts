import type { Queryable } from '../postgres/sql.js'
import { type Reference, referencedFirst } from './referenced-first.js'

/** Keys that find a tenant, and so cannot start with one. Their tables are small, seldom written, and held everywhere. */
export const DIRECTORY: readonly string[] = [
  'api_keys_key_hash_key',
  'mail_tokens_token_hash_key',
  'invitations_token_hash_key',
  'refresh_tokens_token_hash_key',
  'users_email_key_key',
]

/** Tables of no tenant, and how often they are written. None of them by a turn but `buckets`, by its owner. */
export const OF_NO_TENANT: ReadonlyMap<string, string> = new Map([
  ['buckets', 'a row for each tenant or address; unlogged'],
  ['decision_counts_until', 'one row, once a minute'],
  ['jobs', 'a row for each job, when it runs'],
  ['ledger_seals', 'a row for each batch of signed heads'],
  ['ledger_signing', 'one row, with each batch'],
  ['schema_migrations', 'by upgrades'],
])

/** Divided by another column: the owner of a bucket is the tenant in every turn, so that it lies where the tenant lies. */
const OTHER_COLUMN: ReadonlyMap<string, string> = new Map([['buckets', 'owner']])

/** The table that all others lie beside. */
const FIRST = 'sessions'

export interface Placed {
  readonly table: string
  /** The column that says which machine holds a row. Null: every machine holds all rows. */
  readonly by: string | null
}

/** Why the tables cannot be divided. The message names the table. */
export class DistributionError extends Error {
  override name = 'DistributionError'
}

interface Found {
  readonly table: string
  readonly hasTenant: boolean
  readonly isDirectory: boolean
}

/** Where each table of the database belongs, each after those that its rows refer to. */
export async function placeTables(sql: Queryable): Promise<Placed[]> {
  const found = await sql<Found[]>`
    select c.relname as table,
      exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped) as has_tenant,
      exists (
        select from pg_index i join pg_class k on k.oid = i.indexrelid
        where i.indrelid = c.oid and k.relname = any (${[...DIRECTORY]}::text[])
      ) as is_directory
    from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' order by c.relname`
  const references = await sql<Reference[]>`
    select f.relname as from, t.relname as to
    from pg_constraint k join pg_class f on f.oid = k.conrelid join pg_class t on t.oid = k.confrelid
    where k.contype = 'f' and k.conrelid <> k.confrelid and f.relnamespace = current_schema()::regnamespace`
  const everywhere = heldEverywhere(found, references)
  const placed = found.map(({ table, hasTenant }): Placed => {
    if (everywhere.has(table)) return { table, by: null }
    if (!hasTenant && !OTHER_COLUMN.has(table))
      throw new DistributionError(`${table} has no tenant_id and is no table of Countersign: move it to another schema`)
    return { table, by: OTHER_COLUMN.get(table) ?? 'tenant_id' }
  })
  const order = (one: Placed) => (one.by === null ? 0 : one.table === FIRST ? 1 : 2)
  return referencedFirst(
    placed.toSorted((a, b) => order(a) - order(b)),
    references,
  )
}

/** A row that is held everywhere may refer only to rows that are held everywhere. */
function heldEverywhere(found: readonly Found[], references: readonly Reference[]): ReadonlySet<string> {
  const held = new Set(
    found
      .filter(({ table, isDirectory }) => isDirectory || (OF_NO_TENANT.has(table) && !OTHER_COLUMN.has(table)))
      .map(({ table }) => table),
  )
  // A set visits what is added while it is walked through.
  for (const table of held) for (const { from, to } of references) if (from === table) held.add(to)
  return held
}

/** The tables that Citus divides or copies already, not those that it only knows of. None where there is no Citus. */
export async function alreadyPlaced(sql: Queryable): Promise<ReadonlySet<string>> {
  const [citus] = await sql<{ there: boolean }[]>`select to_regclass('pg_dist_partition') is not null as there`
  if (!citus?.there) return new Set()
  const rows = await sql<{ table: string }[]>`
    select c.relname as table from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
    where c.relnamespace = current_schema()::regnamespace and (p.partmethod, p.repmodel) <> ('n', 's')`
  return new Set(rows.map(({ table }) => table))
}

/** Otherwise Citus takes in every table that refers to `tenants` when that is placed, and refuses to divide them later. */
export const BEFORE_PLACEMENTS = 'set citus.enable_local_reference_table_foreign_keys to off;'

/** The call of Citus that places a table. */
export const placement = ({ table, by }: Placed): string =>
  by === null
    ? `select create_reference_table('${table}');`
    : `select create_distributed_table('${table}', '${by}', colocate_with => '${table === FIRST ? 'none' : FIRST}');`
