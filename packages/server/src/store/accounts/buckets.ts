import { databaseFunction } from '../../postgres/database-function.js'
import type { Queryable } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'

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

export const takeTokens = databaseFunction(
  'take_tokens',
  {
    owner: 'text',
    bucket: 'text',
    capacity: 'float8',
    fill_seconds: 'float8',
    wanted: 'integer',
    returned: 'integer',
  },
  'json',
)

/** What `take_tokens` gives. */
export interface Granted {
  readonly granted: number
  readonly tokens: number
}

/** Takes one token, exactly once whatever else happens at the same time on any instance. */
export async function takeToken(sql: Queryable, { owner, bucket, capacity, fillSeconds }: Take): Promise<Taken> {
  const one = { wanted: 1, returned: 0 }
  const taken = await takeTokens(sql, { owner, bucket, capacity, fill_seconds: fillSeconds, ...one })
  const { granted, tokens } = taken as Granted
  return { taken: granted > 0, tokens }
}

/** Takes what tenants have sent from their bytes, below zero where they sent more. Returns what is left, by owner. */
export async function spendBytes(
  sql: Queryable,
  spent: readonly { owner: string; capacity: number; spent: number }[],
  fillSeconds: number,
): Promise<Map<string, number>> {
  const left = new Map<string, number>()
  for (const { owner, capacity, spent: bytes } of spent) {
    const [row] = await sql<{ tokens: number }[]>`
      insert into buckets as b (owner, bucket, tokens, refilled_at, taken)
      values (${owner}, 'bytes', ${capacity}::float8 - ${bytes}::float8, clock_timestamp(), true)
      on conflict (owner, bucket) do update set
        tokens = least(
          ${capacity}::float8,
          b.tokens + greatest(0, extract(epoch from excluded.refilled_at - b.refilled_at)) * ${capacity}::float8 / ${fillSeconds}::float8
        ) - ${bytes}::float8,
        refilled_at = greatest(b.refilled_at, excluded.refilled_at), taken = true
      returning b.tokens`
    if (row !== undefined) left.set(owner, row.tokens)
  }
  return left
}

/** Buckets unused for a day are full anyway. Returns how many were removed. */
export async function deleteIdleBuckets(sql: Queryable, limit: number): Promise<number> {
  const rows = await sql`
    ${across(sql, 'idle buckets')} delete from buckets where (owner, bucket) in (
      select owner, bucket from buckets where refilled_at < statement_timestamp() - interval '1 day' limit ${limit}
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
