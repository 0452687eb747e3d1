import type { BlockReason } from '@countersign/protocol'
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

/** The newest blocked calls: a few steps in an index that holds blocked proposals only, however many a tenant has. */
export async function listRecentBlocks(sql: Queryable, tenantId: string, limit: number): Promise<RecentBlock[]> {
  return sql<RecentBlock[]>`
    with newest as (
      select session_id, seq, proposed_at, decisions from proposals
      where tenant_id = ${tenantId} and outcome in ('blocked', 'partial')
      order by proposed_at desc limit ${limit}
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
