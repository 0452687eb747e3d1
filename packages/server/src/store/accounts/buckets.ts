import { fixedStatement } from '../../postgres/fixed-statement.js'
import type { Queryable } from '../../postgres/sql.js'

export interface Take {
  /** A tenant's id, or for routes before sign-in a hash of the address or e-mail. */
  owner: string
  bucket: string
  /** How many tokens a full bucket holds. */
  capacity: number
  /** How long an empty bucket takes to fill. */
  fillSeconds: number
}

export interface Taken {
  taken: boolean
  /** What is left after the take; below one after a refusal. */
  tokens: number
}

/** Takes one token, exactly once whatever else happens at the same time on any instance. */
export async function takeToken(sql: Queryable, take: Take): Promise<Taken> {
  const [row] = await takeOne(sql, {
    owner: take.owner,
    bucket: take.bucket,
    capacity: take.capacity,
    fill_seconds: take.fillSeconds,
    wanted: 1,
    returned: 0,
  })
  if (!row) throw new Error('a bucket returned no row')
  return row
}

/**
 * The second half of every take. The new row's tokens are one less than the capacity, so `excluded.tokens + 1` is
 * what the bucket holds when full. A conflicting take waits for the row and then sees its latest tokens. All that are
 * wanted are granted, or one, or none.
 */
export const REFILL = `
    on conflict (owner, bucket) do update set (tokens, refilled_at, taken, granted) = (
      select level - granted, at, granted > 0, granted
      from (
        select at, level, case when level >= :wanted::int then :wanted::int when level >= 1 then 1 else 0 end as granted
        from (
          select at, least(
            excluded.tokens + 1,
            b.tokens + least(:returned::int, greatest(1, (excluded.tokens + 1) / 100)) + greatest(0, extract(epoch from at - b.refilled_at))
              * (excluded.tokens + 1) / :fill_seconds::float8
          ) as level
          from (select clock_timestamp() as at) as clock
        ) as refilled
      ) as judged
    )`

const takeOne = fixedStatement<Taken>(`
    insert into buckets as b (owner, bucket, tokens, refilled_at, taken)
    values (:owner::text, :bucket::text, :capacity::float8 - 1, clock_timestamp(), true)
    ${REFILL}
    returning b.taken, b.tokens`)

/** Takes what tenants have sent from their bytes, below zero where they sent more. Returns what is left, by owner. */
export async function spendBytes(
  sql: Queryable,
  spent: readonly { owner: string; capacity: number; spent: number }[],
  fillSeconds: number,
): Promise<Map<string, number>> {
  // In one order on every instance, so that two batches cannot wait for each other.
  const rows = await sql<{ owner: string; tokens: number }[]>`
    with sent as (
      select * from unnest(
        ${spent.map((row) => row.owner)}::text[], ${spent.map((row) => String(row.capacity))}::text[]::float8[],
        ${spent.map((row) => String(row.spent))}::text[]::float8[]
      ) as sent (owner, capacity, spent)
    )
    insert into buckets as b (owner, bucket, tokens, refilled_at, taken)
    select owner, 'bytes', least(capacity, capacity - spent), clock_timestamp(), true from sent order by owner
    on conflict (owner, bucket) do update set (tokens, refilled_at, taken) = (
      select least(
        sent.capacity,
        b.tokens + greatest(0, extract(epoch from at - b.refilled_at)) * sent.capacity / ${fillSeconds}::float8
      ) - sent.spent, at, true
      from sent, (select clock_timestamp() as at) as clock where sent.owner = b.owner
    )
    returning b.owner, b.tokens`
  return new Map(rows.map(({ owner, tokens }) => [owner, tokens]))
}

/** Buckets nobody took from for a day are full anyway. Returns how many were removed. */
export async function deleteIdleBuckets(sql: Queryable, limit: number): Promise<number> {
  const rows = await sql`
    delete from buckets where (owner, bucket) in (
      select owner, bucket from buckets where refilled_at < clock_timestamp() - interval '1 day' limit ${limit}
    ) returning 1`
  return rows.length
}

/** What was left in each bucket of an owner at the last take, and how long ago that was. */
export async function readBuckets(
  sql: Queryable,
  owner: string,
): Promise<{ bucket: string; tokens: number; idleSeconds: number }[]> {
  return sql<{ bucket: string; tokens: number; idleSeconds: number }[]>`
    select bucket, tokens, greatest(0, extract(epoch from clock_timestamp() - refilled_at))::float8 as idle_seconds
    from buckets where owner = ${owner}`
}
