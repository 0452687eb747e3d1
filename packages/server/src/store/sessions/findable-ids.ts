import type { Queryable } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'
import { deleteSome } from '../delete-some.js'

export interface FindableScope {
  readonly tenantId: string
  readonly agent: string
  readonly environment: string
}

/** The session that has most of these ids, the newest of several; null where none has any, or it was archived. */
export async function findSessionByIds(
  sql: Queryable,
  { tenantId, agent, environment }: FindableScope,
  ids: readonly string[],
): Promise<string | null> {
  const [row] = await sql<{ sessionId: string }[]>`
    select session_id from findable_ids f
    where tenant_id = ${tenantId} and agent = ${agent} and environment = ${environment} and id = any (${[...ids]})
      and exists (select from sessions s where s.tenant_id = ${tenantId} and s.session_id = f.session_id)
    group by session_id order by count(*) desc, max(at) desc limit 1`
  return row?.sessionId ?? null
}

export function deleteOldFindableIds(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteSome(sql, 'findable_ids', sql`at < ${daysAgo(sql, days)}`, limit)
}
