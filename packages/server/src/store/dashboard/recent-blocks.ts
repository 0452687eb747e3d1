import type { BlockReason } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'

export interface RecentBlock {
  at: Date
  sessionId: string
  agent: string
  seq: number
  index: number
  toolName: string
  reason: BlockReason
}

/**
 * The newest calls that were blocked or stopped, however many proposals a tenant has. Step by step: what was decided on one
 * of them may have a quarter of a megabyte, and must not be read again for each session.
 */
export async function listRecentBlocks(sql: Queryable, tenantId: string, limit: number): Promise<RecentBlock[]> {
  return sql<RecentBlock[]>`
    with newest as materialized (
      select session_id, seq, at from blocked_proposals
      where tenant_id = ${tenantId} order by at desc, session_id desc, seq desc limit ${limit}
    ), stopped as materialized (
      select * from stopped_calls where tenant_id = ${tenantId} order by at desc, session_id desc limit ${limit}
    ), blocks as materialized (
      select n.at, n.session_id, n.seq, (d ->> 'index')::int as index, d ->> 'tool_name' as tool_name,
        d ->> 'reason' as reason
      from newest n
      join proposals p on p.tenant_id = ${tenantId} and p.session_id = n.session_id and p.seq = n.seq
      cross join lateral json_array_elements(p.decisions) d
      where d ->> 'decision' = 'block' and d ->> 'reason' is not null
      union all
      select c.at, c.session_id, p.seq, c.call_index, d ->> 'tool_name', c.reason
      from stopped c
      join proposals p on p.tenant_id = ${tenantId} and p.session_id = c.session_id and p.proposal_id = c.proposal_id
      cross join lateral json_array_elements(p.decisions) d
      where (d ->> 'index')::int = c.call_index
    )
    select b.*, s.agent from blocks b join sessions s on s.tenant_id = ${tenantId} and s.session_id = b.session_id
    order by b.at desc, b.session_id, b.index
    limit ${limit}`
}
