import type { Queryable } from '../../postgres/sql.js'

const WINDOW_MS = 30 * 24 * 3_600_000

/** Runs of the last 30 days: what the budget counts. */
export async function countRecentRuns(sql: Queryable, tenantId: string, now: Date): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) from runs where tenant_id = ${tenantId} and created_at > ${new Date(now.getTime() - WINDOW_MS)}`
  return row?.count ?? 0
}
