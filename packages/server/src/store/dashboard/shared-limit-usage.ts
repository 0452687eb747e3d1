import type { NamedLimit } from '@countersign/engine'
import { LIMITS } from '@countersign/protocol'
import type { Fragment, Queryable } from '../../postgres/sql.js'

/** What is used of a limit for one key, now. */
export interface LimitUsage extends NamedLimit {
  readonly id: string
  /** The bound of the newest write. */
  readonly most: string
  readonly used: string
  /** The oldest part of the window that counts; null: none does. */
  readonly oldest: string | null
  /** How many keys of the limit were read. */
  readonly keys: number
  /** Whether the tenant has limits of which nothing is listed. */
  readonly moreLimits: boolean
}

/** A name may have millions of keys. */
export const KEYS_READ = 5_000
const NAMES_READ = 64
const AGENTS_READ = 500
const KEYS_SHOWN = 20
/** Of one name a tenant may have thousands, each with another window. */
const LIMITS_SHOWN = 256

/** The limits that are in use, as many as a person looks at, each with the keys that have used most of it. */
export async function listLimitUsage(sql: Queryable, tenantId: string): Promise<LimitUsage[]> {
  return usageOf(
    sql,
    sql`
    select c.* from (select name from names where name is not null limit ${NAMES_READ}) as n
    cross join lateral (
      select * from shared_limit_counts
      where tenant_id = ${tenantId} and name = n.name and time_window is not null and expires_at > clock_timestamp()
      limit ${KEYS_READ}
    ) as c`,
    tenantId,
  )
}

/** The same of some counts alone. */
export async function findLimitUsage(
  sql: Queryable,
  tenantId: string,
  wanted: readonly { readonly name: string; readonly id: string }[],
): Promise<LimitUsage[]> {
  return usageOf(
    sql,
    sql`
    select c.* from unnest(${wanted.map(({ name }) => name)}::text[], ${wanted.map(({ id }) => id)}::text[]) as w (name, id)
    join shared_limit_counts c on c.tenant_id = ${tenantId} and c.name = w.name and c.id = w.id
      and c.time_window is not null`,
    tenantId,
  )
}

/** `names` goes from one name to the next by the index. What counts is what the engine's `liveBuckets` finds. */
function usageOf(sql: Queryable, rows: Fragment, tenantId: string): Promise<LimitUsage[]> {
  return sql<LimitUsage[]>`
    with recursive names as (
      (select name from shared_limit_counts where tenant_id = ${tenantId} order by name limit 1)
      union all
      select (
        select c.name from shared_limit_counts c
        where c.tenant_id = ${tenantId} and c.name > names.name order by c.name limit 1
      ) from names where names.name is not null
    ), live as (
      select c.name, c.per, c.counts, c.time_window, c.id, c.most, parts.used, parts.oldest
      from (${rows}) as c
      cross join lateral (
        select left(c.time_window, -1)::numeric
          * case right(c.time_window, 1) when 'm' then 60000 when 'h' then 3600000 else 86400000 end as ms
      ) as w
      cross join lateral (
        select coalesce(sum(amount), 0) as used, min(bucket) as oldest
        from unnest(c.buckets, c.amounts) as part (bucket, amount)
        where amount > 0 and bucket >=
          floor((extract(epoch from clock_timestamp()) * 1000 - w.ms) / (w.ms / ${LIMITS.sharedLimitBuckets}))
      ) as parts
    ), ranked as (
      select *, count(*) over same as keys, row_number() over (same order by used / most desc, id collate "C") as place,
        dense_rank() over (order by name collate "C", time_window, per, counts) as limit_place
      from live window same as (partition by name, per, counts, time_window)
    )
    select name, per, counts, time_window as "window", id, trim_scale(most)::text as most, trim_scale(used)::text as used,
      oldest::text, keys::int,
      (select max(limit_place) > ${LIMITS_SHOWN} from ranked)
        or exists (select from names where name is not null offset ${NAMES_READ}) as "moreLimits"
    from ranked where place <= ${KEYS_SHOWN} and limit_place <= ${LIMITS_SHOWN}
    order by name collate "C", time_window, per, counts, place`
}

/** The names of agents that ever had a session. */
export async function listAgentNames(sql: Queryable, tenantId: string): Promise<string[]> {
  const rows = await sql<{ agent: string }[]>`
    with recursive agents as (
      (select agent from sessions where tenant_id = ${tenantId} and agent is not null order by agent limit 1)
      union all
      select (
        select s.agent from sessions s
        where s.tenant_id = ${tenantId} and s.agent > agents.agent order by s.agent limit 1
      ) from agents where agents.agent is not null
    )
    select agent from agents where agent is not null limit ${AGENTS_READ}`
  return rows.map(({ agent }) => agent)
}

export async function loadLimitSalt(sql: Queryable, tenantId: string): Promise<string> {
  const [row] = await sql<{ limitSalt: string }[]>`select limit_salt from tenants where tenant_id = ${tenantId}`
  if (row === undefined) throw new Error('a tenant is gone')
  return row.limitSalt
}
