import type { HandoffState, SessionActivity, SessionStatus, WorkflowDefinition } from '@countersign/protocol'
import type { PageEnd } from '../../base/time-cursor.js'
import type { Queryable } from '../../postgres/sql.js'
import { pageEnd, pageTime } from '../page-time.js'
import { activityOfRow, mayGoOn } from '../session-activity.js'
import type { Handoff } from './handoffs.js'
import type { WorkflowRow } from './workflows.js'

/** A workflow with all that belongs to it, as one statement saw it. */
export interface WholeWorkflow {
  readonly workflow: WorkflowRow
  readonly definition: WorkflowDefinition
  readonly sessions: readonly MemberSession[]
  readonly handoffs: readonly Handoff[]
  readonly holds: readonly ShownHold[]
}

export interface MemberSession {
  readonly session_id: string
  readonly role: string
  readonly status: SessionStatus
  readonly activity: SessionActivity
  readonly labels: string[]
  readonly tools: string[] | null
  readonly handoff_id: string | null
}

export interface ShownHold {
  readonly key_hash: string
  readonly key_text: string | null
  readonly mode: 'exclusive' | 'shared'
  readonly session_id: string
  readonly pending_call_id: string
  readonly ends_at: string | null
}

interface StoredHandoff {
  handoff_id: string
  from_session: string
  from_role: string
  to_role: string
  to_session: string | null
  state: HandoffState
  tools: string[] | null
  bound: string[] | null
  note: string | null
  labels: string[]
  body_hash: string
  offered_at: string
  expires_at: string
  settled_at: string | null
}

type Stored = Omit<WorkflowRow, 'ledger'> & {
  definition: WorkflowDefinition
  ledgerSeq: number
  ledgerHash: string
  sessions: MemberSession[]
  handoffs: StoredHandoff[]
  holds: ShownHold[]
}

/** Null when the tenant has no such workflow. */
export async function loadWholeWorkflow(
  sql: Queryable,
  tenantId: string,
  workflowId: string,
): Promise<WholeWorkflow | null> {
  const [row] = await sql<Stored[]>`
    select w.tenant_id, w.workflow_id, w.status, w.definition, w.definition_hash, w.key_salt, w.ledger_seq,
      w.ledger_hash, w.created_at, clock_timestamp() as now,
      (select coalesce(json_agg(m order by m.created_at, m.session_id), '[]') from (
        select s.session_id, s.role, s.status, ${activityOfRow(sql)} as activity, l.state -> 'labels' as labels,
          l.state -> 'offeredTools' as tools, o.handoff_id, s.created_at
        from sessions s join session_heads h using (tenant_id, session_id)
        cross join lateral (select h.state::json as state offset 0) as l
        left join handoffs o on o.tenant_id = ${tenantId} and o.to_session = s.session_id
        where s.tenant_id = ${tenantId} and s.workflow_id = w.workflow_id
      ) as m) as sessions,
      (select coalesce(json_agg(h order by h.offered_at, h.handoff_id), '[]') from handoffs h
        where h.tenant_id = ${tenantId} and h.workflow_id = w.workflow_id) as handoffs,
      (select coalesce(json_agg(r order by r.held_at, r.pending_call_id, r.key_hash), '[]') from resource_holds r
        where r.tenant_id = ${tenantId} and r.workflow_id = w.workflow_id
          and (r.ends_at is null or r.ends_at > clock_timestamp())) as holds
    from workflows w where w.tenant_id = ${tenantId} and w.workflow_id = ${workflowId}`
  if (!row) return null
  const { ledgerSeq, ledgerHash, definition, sessions, handoffs, holds, ...workflow } = row
  return {
    workflow: { ...workflow, ledger: { seq: ledgerSeq, hash: ledgerHash } },
    definition,
    sessions,
    handoffs: handoffs.map(readHandoff),
    holds,
  }
}

const readHandoff = (row: StoredHandoff): Handoff => ({
  handoffId: row.handoff_id,
  fromSession: row.from_session,
  fromRole: row.from_role,
  toRole: row.to_role,
  toSession: row.to_session,
  state: row.state,
  tools: row.tools,
  bound: row.bound,
  note: row.note,
  labels: row.labels,
  bodyHash: row.body_hash,
  offeredAt: new Date(row.offered_at),
  expiresAt: new Date(row.expires_at),
  settledAt: row.settled_at === null ? null : new Date(row.settled_at),
})

export interface ListedWorkflow {
  workflowId: string
  status: 'ACTIVE' | 'KILLED'
  /** That of the session that has most left to do. */
  activity: SessionActivity
  sessions: number
  openHandoffs: number
  createdAt: Date
  pageAt: string
}

/** Workflows newest first, below the cursor. */
export async function listWorkflows(
  sql: Queryable,
  page: { tenantId: string; below: PageEnd | null; limit: number },
): Promise<ListedWorkflow[]> {
  const { tenantId, below, limit } = page
  return sql<ListedWorkflow[]>`
    select w.workflow_id, w.status, w.created_at, ${pageTime(sql, sql`w.created_at`)},
      coalesce((select max(${activityOfRow(sql)}) from sessions s join session_heads h using (tenant_id, session_id)
        where s.tenant_id = ${tenantId} and s.workflow_id = w.workflow_id and ${mayGoOn(sql)}), 'ended') as activity,
      (select count(*)::int from sessions s
        where s.tenant_id = ${tenantId} and s.workflow_id = w.workflow_id) as sessions,
      (select count(*)::int from handoffs h
        -- Those of a killed workflow are never completed.
        where w.status = 'ACTIVE' and h.tenant_id = ${tenantId} and h.workflow_id = w.workflow_id
          and (h.state = 'accepted' or (h.state = 'offered' and h.expires_at > clock_timestamp()))) as open_handoffs
    from workflows w
    where w.tenant_id = ${tenantId}
      ${below === null ? sql`` : sql`and (w.created_at, w.workflow_id) < ${pageEnd(sql, below)}`}
    order by w.created_at desc, w.workflow_id desc limit ${limit}`
}
