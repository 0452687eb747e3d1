import type { UsedBucket } from '@countersign/engine'
import { violates } from '../../postgres/database-error.js'
import type { Queryable } from '../../postgres/sql.js'
import { deleteSome } from '../delete-some.js'

/** A change of what was used of a shared limit. */
export interface NewCount {
  readonly name: string
  readonly id: string
  readonly bucket: number
  /** Negative: something is given back. */
  readonly amount: string
  /** What may be used at most; null: it has happened, so it counts in any case. */
  readonly bound: string | null
  /** The parts of the window up to this one count no longer. */
  readonly past: number
  readonly expires_at: string
  /** For people who look at what is used. */
  readonly per: string
  readonly counts: string
  readonly time_window: string
  readonly most: string
}

/** Somebody else has used what was left of a limit since it was read: the decision must be made again. */
export const isLimitTaken = (error: unknown): boolean => violates(error, 'shared_limit_kept')

/** What was used, by id. What is not there was never used, or long ago. */
export async function loadCounts(
  sql: Queryable,
  tenantId: string,
  wanted: readonly { readonly name: string; readonly id: string }[],
): Promise<Map<string, UsedBucket[]>> {
  const rows = await sql<{ id: string; buckets: string[]; amounts: string[] }[]>`
    select l.id, l.buckets::text[] as buckets, l.amounts::text[] as amounts
    from unnest(${wanted.map(({ name }) => name)}::text[], ${wanted.map(({ id }) => id)}::text[]) as w (name, id)
    join shared_limit_counts l on l.tenant_id = ${tenantId} and l.name = w.name and l.id = w.id`
  return new Map(
    rows.map(({ id, buckets, amounts }) => [
      id,
      buckets.map((bucket, at) => ({ bucket: Number(bucket), amount: amounts[at] ?? '0' })),
    ]),
  )
}

/** Removes counts of which nothing counts any more. Returns how many. */
export function deleteEndedCounts(sql: Queryable, limit: number): Promise<number> {
  return deleteSome(sql, 'shared_limit_counts', sql`expires_at < statement_timestamp()`, limit)
}
