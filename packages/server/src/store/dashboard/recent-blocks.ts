import type { BlockReason } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'

export interface RecentBlock {
  at: Date
  sessionId: string
  agent: string | null
  seq: number
  index: number
  toolName: string
  reason: BlockReason
}

/** The newest blocked calls, however many proposals a tenant has. */
export async function listRecentBlocks(sql: Queryable, tenantId: string, limit: number): Promise<RecentBlock[]> {
  return sql<RecentBlock[]>`
    with newest as (
      select session_id, seq, at from blocked_proposals
      where tenant_id = ${tenantId} order by at desc, session_id desc, seq desc limit ${limit}
    )
    select n.at, n.session_id, s.agent, n.seq, (d ->> 'index')::int as index,
      d ->> 'tool_name' as tool_name, d ->> 'reason' as reason
    from newest n
    join sessions s on s.tenant_id = ${tenantId} and s.session_id = n.session_id
    join proposals p on p.tenant_id = ${tenantId} and p.session_id = n.session_id and p.seq = n.seq
    cross join lateral json_array_elements(p.decisions) d
    where d ->> 'decision' = 'block' and d ->> 'reason' is not null
    order by n.at desc, n.session_id, (d ->> 'index')::int
    limit ${limit}`
}
