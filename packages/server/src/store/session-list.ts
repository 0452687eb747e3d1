import type { BlockReason, Environment, SessionStatus } from '@countersign/protocol'
import type { Queryable } from './database.js'

export interface ListedSession {
  sessionId: string
  agent: string | null
  environment: Environment | null
  status: SessionStatus
  phase: string | null
  labels: string[]
  stateVersion: number
  allowedCalls: number
  blockedCalls: number
  inDoubt: number
  lastReason: BlockReason | null
  actualCost: string
  workflowId: string | null
  createdAt: Date
  updatedAt: Date
}

/** Where a page begins: below this session in the order of creation. */
export interface SessionCursor {
  createdAt: Date
  sessionId: string
}

export interface SessionFilter {
  tenantId: string
  /** The beginning of a session's id, or an agent's whole name. */
  search: string | null
  agent: string | null
  status: SessionStatus | null
  reason: string | null
  label: string | null
  from: Date | null
  to: Date | null
  below: SessionCursor | null
  limit: number
}

/** Sessions newest first. Every filter lies in an index, or narrows what an index has narrowed. */
export async function listSessions(sql: Queryable, filter: SessionFilter): Promise<ListedSession[]> {
  const { tenantId, search, below } = filter
  const withFacet = (kind: 'label' | 'reason', value: string | null) =>
    value === null
      ? sql``
      : sql`and (s.created_at, s.session_id) in (
          select f.created_at, f.session_id from session_facets f
          where f.tenant_id = ${tenantId} and f.kind = ${kind} and f.value = ${value}
            ${below === null ? sql`` : sql`and (f.created_at, f.session_id) < (${below.createdAt}, ${below.sessionId})`}
        )`
  return sql<ListedSession[]>`
    select ${columns(sql)} from sessions s
    where s.tenant_id = ${tenantId}
      ${filter.agent === null ? sql`` : sql`and s.agent = ${filter.agent}`}
      ${filter.status === null ? sql`` : sql`and s.status = ${filter.status}`}
      ${withFacet('reason', filter.reason)}
      ${withFacet('label', filter.label)}
      ${filter.from === null ? sql`` : sql`and s.created_at >= ${filter.from}`}
      ${filter.to === null ? sql`` : sql`and s.created_at < ${filter.to}`}
      ${search === null ? sql`` : sql`and (s.session_id collate "C" between ${search} and ${`${search}\u{10ffff}`} or s.agent = ${search})`}
      ${below === null ? sql`` : sql`and (s.created_at, s.session_id) < (${below.createdAt}, ${below.sessionId})`}
    order by s.created_at desc, s.session_id desc
    limit ${filter.limit}`
}

export async function loadListedSession(
  sql: Queryable,
  tenantId: string,
  sessionId: string,
): Promise<ListedSession | undefined> {
  const [row] = await sql<ListedSession[]>`
    select ${columns(sql)} from sessions s where s.tenant_id = ${tenantId} and s.session_id = ${sessionId}`
  return row
}

const columns = (sql: Queryable) => sql`
  s.session_id, s.agent, s.environment, s.status, s.state ->> 'phase' as phase,
  array(select json_array_elements_text(s.state -> 'labels')) as labels, s.state_version, s.allowed_calls, s.blocked_calls,
  (select count(*)::int from json_array_elements(s.state #> '{open,calls}') c where c ->> 'state' = 'in_doubt') as in_doubt,
  s.last_reason, s.state ->> 'actualCost' as actual_cost, s.workflow_id, s.created_at, s.updated_at`

export interface SessionTotals {
  sessions: number
  activeSessions: number
  callsInDoubt: number
  killed: number
  compromised: number
}

/** How many sessions began since, run now, or need somebody's attention. */
export async function countSessions(sql: Queryable, tenantId: string, since: Date): Promise<SessionTotals> {
  const [row] = await sql<SessionTotals[]>`
    select
      (select count(*)::int from sessions where tenant_id = ${tenantId} and created_at >= ${since}) as sessions,
      (select count(*)::int from sessions where tenant_id = ${tenantId} and created_at >= clock_timestamp() - interval '1 day'
        and status = 'ACTIVE' and lease_until > clock_timestamp()) as active_sessions,
      (select coalesce(sum((select count(*) from json_array_elements(state #> '{open,calls}') c where c ->> 'state' = 'in_doubt')), 0)::int
        from sessions where tenant_id = ${tenantId} and status = 'RECOVERING') as calls_in_doubt,
      (select count(*)::int from sessions where tenant_id = ${tenantId} and status = 'KILLED' and created_at >= ${since}) as killed,
      (select count(*)::int from sessions where tenant_id = ${tenantId} and status = 'COMPROMISED' and created_at >= ${since}) as compromised`
  if (row === undefined) throw new Error('a count gave no answer')
  return row
}

/** Sessions and the newest of them, by agent. */
export async function countSessionsByAgent(
  sql: Queryable,
  tenantId: string,
  since: Date,
): Promise<{ agent: string | null; sessions: number; lastSeen: Date }[]> {
  return sql<{ agent: string | null; sessions: number; lastSeen: Date }[]>`
    select agent, count(*)::int as sessions, max(created_at) as last_seen from sessions
    where tenant_id = ${tenantId} and created_at >= ${since}
    group by agent order by sessions desc limit 200`
}
