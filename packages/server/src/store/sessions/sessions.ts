import type { SessionState } from '@countersign/engine'
import type { CaptureLevel, Environment, JsonValue, NarrowingSnapshot, UnmatchedPolicy } from '@countersign/protocol'
import { fixedStatement } from '../../postgres/fixed-statement.js'
import type { Queryable } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'
import { mayGoOn } from '../session-activity.js'
import type { StoredFacts } from './session-head.js'
import type { FixedSession, PreparedRequest, SessionHead, SessionRow } from './session-row.js'

/** What the row looks like on its way out of PostgreSQL. */
interface StoredSession {
  tenant_id: string
  session_id: string
  revision: string
  lease_until: string
  facts: StoredFacts
  prepared: PreparedRequest | null
  state: Omit<SessionState, 'recent'>
  narrowing: NarrowingSnapshot | null
  recent: SessionState['recent']
  compiled_hash: string
  plan_source: 'approved' | 'client'
  unmatched_policy: UnmatchedPolicy
  capture_level: CaptureLevel
  environment: Environment | null
  principal: JsonValue
  hash_salt: string
  limit_salt: string | null
  workflow_id: string | null
  role: string | null
  body_hash: string
  created_at: string
  now: string
}

/** Of a session `s` and its head `h`, what `readSession` reads. */
const ROW = `s.*, h.revision, h.lease_until, h.facts::json as facts, h.prepared::json as prepared, h.state::json as state,
  h.narrowing::json as narrowing, h.recent::json as recent, clock_timestamp() as now`

/** A scalar subselect of one session; where nothing has been written since the row that is known, of the time alone. */
export const SELECT_SESSION = (tenantId: string) => `
    select case
      when s.tenant_id = :known_tenant::text and h.revision = :known_revision::text then to_json(clock_timestamp())
      else (select row_to_json(found) from (select ${ROW}) as found)
    end
    from sessions s join session_heads h using (tenant_id, session_id)
    where s.tenant_id = ${tenantId} and s.session_id = :session_id::text`

/** The row that is known, as `SELECT_SESSION` asks for it. */
export const revisionOf = (known: SessionRow | null) => ({
  known_tenant: known?.fixed.tenantId ?? '',
  known_revision: known?.head.revision ?? '',
})

/** What `SELECT_SESSION` selected. Null when the tenant has no such session. */
export function readSession(selected: unknown, known: SessionRow | null = null): SessionRow | null {
  if (selected === null || selected === undefined) return null
  if (typeof selected === 'string' && known !== null) {
    return { fixed: known.fixed, head: known.head, now: new Date(selected) }
  }
  const row = selected as StoredSession
  return { fixed: fixedOf(row), head: headOf(row), now: new Date(row.now) }
}

const fixedOf = (row: StoredSession): FixedSession => ({
  tenantId: row.tenant_id,
  sessionId: row.session_id,
  compiledHash: row.compiled_hash,
  planSource: row.plan_source,
  unmatchedPolicy: row.unmatched_policy,
  captureLevel: row.capture_level,
  environment: row.environment,
  principal: row.principal,
  hashSalt: row.hash_salt,
  limitSalt: row.limit_salt,
  workflowId: row.workflow_id,
  role: row.role,
  bodyHash: row.body_hash,
  createdAt: new Date(row.created_at),
})

const headOf = (row: StoredSession): SessionHead => ({
  revision: row.revision,
  leaseUntil: new Date(row.lease_until),
  state: { ...row.state, recent: row.recent },
  lastNarrowing: row.narrowing,
  prepared: row.prepared,
  hasSuperseded: row.facts.hasSuperseded,
  ledger: row.facts.ledger,
  lastEvent: row.facts.lastEvent,
  allowedCalls: row.facts.allowedCalls,
  blockedCalls: row.facts.blockedCalls,
  lastReason: row.facts.lastReason,
})

export async function loadSession(sql: Queryable, tenantId: string, sessionId: string): Promise<SessionRow | null> {
  const [row] = await load(sql, { tenant_id: tenantId, session_id: sessionId, ...revisionOf(null) })
  return readSession(row?.found)
}

const load = fixedStatement<{ found: unknown }>(`select (${SELECT_SESSION(':tenant_id::text')}) as found`)

/**
 * Holds the session's row until the transaction ends. False when the tenant has no such session.
 * What is read must be read by a later statement: this one may have waited, and its snapshot is from before the wait.
 */
export async function lockSession(tx: Queryable, tenantId: string, sessionId: string): Promise<boolean> {
  const rows = await tx`
    select 1 from session_heads where tenant_id = ${tenantId} and session_id = ${sessionId} for no key update`
  return rows.length === 1
}

/** Holds several rows, in the order of their ids like everybody who holds more than one. */
export async function lockSessions(tx: Queryable, tenantId: string, sessionIds: readonly string[]): Promise<void> {
  await tx`
    select 1 from session_heads where tenant_id = ${tenantId} and session_id = any (${[...sessionIds]}::text[])
    order by session_id collate "C" for no key update`
}

export interface SessionsToStop {
  /** The newest first. */
  ids: string[]
  /** Sessions that nobody has held for a day. */
  idle: number
}

/** The sessions of an agent that may go on. Those that nobody has held for a day only with `all`. */
export async function sessionsToStop(
  sql: Queryable,
  { tenantId, agent, all, limit }: { tenantId: string; agent: string; all: boolean; limit: number },
): Promise<SessionsToStop> {
  const [row] = await sql<SessionsToStop[]>`
    with live as materialized (
      select s.session_id, s.created_at, h.lease_until > ${daysAgo(sql, 1)} as is_held
      from sessions s join session_heads h using (tenant_id, session_id)
      where s.tenant_id = ${tenantId} and s.agent = ${agent} and ${mayGoOn(sql)}
    )
    select
      array(
        select session_id from live where is_held or ${all}
        order by created_at desc, session_id desc limit ${limit}
      ) as ids,
      (select count(*)::int from live where not is_held) as idle`
  if (row === undefined) throw new Error('a count returned no row')
  return row
}
