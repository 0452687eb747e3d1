import { BLOCK_REASON_NAMES, type BlockReason } from '@countersign/protocol'
import type { Queryable } from './database.js'

export interface RecentBlock {
  at: Date
  sessionId: string
  agent: string | null
  seq: number
  index: number
  toolName: string
  reason: BlockReason
}

/** How many sessions, newest first, are looked into for each reason. */
const SESSIONS_PER_REASON = 10

/**
 * The newest blocked calls of the sessions that began last: a few steps in the index for each reason, and then only the
 * proposals of those sessions, however many a tenant has.
 */
export async function listRecentBlocks(sql: Queryable, tenantId: string, limit: number): Promise<RecentBlock[]> {
  return sql<RecentBlock[]>`
    with looked_into as (
      select distinct f.session_id, f.created_at
      from unnest(${[...BLOCK_REASON_NAMES]}::text[]) as reasons (reason), lateral (
        select session_id, created_at from session_facets
        where tenant_id = ${tenantId} and kind = 'reason' and value = reasons.reason
        order by created_at desc limit ${SESSIONS_PER_REASON}
      ) f
      order by f.created_at desc limit ${2 * limit}
    ), newest as (
      select p.session_id, p.seq, p.proposed_at, p.decisions
      from looked_into l join proposals p on p.tenant_id = ${tenantId} and p.session_id = l.session_id
      where p.outcome in ('blocked', 'partial')
      order by p.proposed_at desc limit ${limit}
    )
    select n.proposed_at as at, n.session_id, s.agent, n.seq, (d ->> 'index')::int as index,
      d ->> 'tool_name' as tool_name, d ->> 'reason' as reason
    from newest n
    join sessions s on s.tenant_id = ${tenantId} and s.session_id = n.session_id
    cross join lateral json_array_elements(n.decisions) d
    where d ->> 'decision' = 'block' and d ->> 'reason' is not null
    order by n.proposed_at desc, n.session_id, (d ->> 'index')::int
    limit ${limit}`
}
