import type { Queryable } from '../../postgres/sql.js'
import { mayGoOn } from '../session-activity.js'

/** Where the last page ended: sessions are taken in the order in which they began. */
export interface ArchivePosition {
  /** As PostgreSQL writes it: a time of JavaScript has no microseconds. */
  readonly createdAt: string
  readonly sessionId: string
}

export interface ArchivableSession extends ArchivePosition {
  readonly workflowId: string | null
  readonly compiledHash: string
  readonly events: number
  /** Of the state, which a reader of the file holds. */
  readonly bytes: number
}

export interface WhatToArchive {
  readonly tenantId: string
  /** Only sessions of which nothing was written since. */
  readonly before: Date
  /** Also those that were not ended, if they had no holder since. */
  readonly idle: boolean
}

/** Of a session `s` and its head `h`. */
const isOver = (sql: Queryable, { tenantId, before, idle }: WhatToArchive) => sql`(
  (h.facts::json ->> 'updatedAt')::timestamptz < ${before}
  and not exists (
    select from questions q where q.tenant_id = ${tenantId} and q.session_id = s.session_id
      and q.state in ('waiting', 'approved')
  )
  and (not ${mayGoOn(sql)} or (${idle} and h.lease_until < ${before})))`

/** Sessions that can be moved into a file, the oldest first. */
export function listArchivableSessions(
  sql: Queryable,
  what: WhatToArchive,
  { after, limit }: { readonly after: ArchivePosition | null; readonly limit: number },
): Promise<ArchivableSession[]> {
  const { tenantId, before } = what
  return sql<ArchivableSession[]>`
    select s.session_id, s.workflow_id, s.compiled_hash, s.created_at::text as created_at,
      (h.facts::json #>> '{ledger,seq}')::int as events,
      octet_length(h.state) + octet_length(h.recent) as bytes
    from sessions s join session_heads h using (tenant_id, session_id)
    where s.tenant_id = ${tenantId} and s.created_at < ${before} and ${isOver(sql, what)}
      ${after === null ? sql`` : sql`and (s.created_at, s.session_id) > (${after.createdAt}::text::timestamptz, ${after.sessionId})`}
    order by s.created_at, s.session_id limit ${limit}`
}

export interface ArchivableWorkflow {
  readonly workflowId: string
  readonly sessionIds: string[]
  /** Each once. */
  readonly compiledHashes: string[]
  readonly events: number
  readonly bytes: number
}

/** Those of the workflows that can be moved: no session of theirs may go on, and no offer waits for one. */
export function listArchivableWorkflows(
  sql: Queryable,
  what: WhatToArchive,
  workflowIds: readonly string[],
): Promise<ArchivableWorkflow[]> {
  const { tenantId } = what
  return sql<ArchivableWorkflow[]>`
    select s.workflow_id, array_agg(s.session_id order by s.session_id collate "C") as session_ids,
      array_agg(distinct s.compiled_hash) as compiled_hashes,
      sum((h.facts::json #>> '{ledger,seq}')::int)::int as events,
      sum(octet_length(h.state) + octet_length(h.recent))::int as bytes
    from sessions s join session_heads h using (tenant_id, session_id)
    where s.tenant_id = ${tenantId} and s.workflow_id = any (${[...workflowIds]}::text[])
    group by s.workflow_id
    having bool_and(${isOver(sql, what)})
      and not exists (
        select from handoffs o
        where o.tenant_id = ${tenantId} and o.workflow_id = s.workflow_id and o.state = 'offered'
      )`
}

/** The workflow of each of the sessions that is in one. */
export async function loadWorkflowsOf(
  sql: Queryable,
  tenantId: string,
  sessionIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await sql<{ sessionId: string; workflowId: string }[]>`
    select session_id, workflow_id from sessions
    where tenant_id = ${tenantId} and session_id = any (${[...sessionIds]}::text[]) and workflow_id is not null`
  return new Map(rows.map(({ sessionId, workflowId }) => [sessionId, workflowId]))
}

/** How long each of the plans is as JSON. */
export async function loadPlanBytes(
  sql: Queryable,
  tenantId: string,
  hashes: readonly string[],
): Promise<Map<string, number>> {
  const rows = await sql<{ compiledHash: string; bytes: number }[]>`
    select compiled_hash, octet_length(compiled_session::text) as bytes from plans
    where tenant_id = ${tenantId} and compiled_hash = any (${[...hashes]}::text[])`
  return new Map(rows.map(({ compiledHash, bytes }) => [compiledHash, bytes]))
}
