import { toldPrincipal } from '@countersign/engine'
import { LIMITS } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'
import { mayGoOn } from '../session-activity.js'
import type { StoredFacts } from './session-head.js'
import type { FixedSession, SessionHead, SessionRow } from './session-row.js'

/** What the row looks like on its way out of PostgreSQL. Its parts are JSON, which is not read there: a state may be long. */
export interface StoredSession extends FixedSession {
  revision: string
  leaseUntil: Date
  facts: string
  prepared: string | null
  state: string
  narrowing: string | null
  recent: string
  now: Date
}

const fixedOf = (row: StoredSession): FixedSession => ({
  tenantId: row.tenantId,
  sessionId: row.sessionId,
  compiledHash: row.compiledHash,
  planSource: row.planSource,
  unmatchedPolicy: row.unmatchedPolicy,
  captureLevel: row.captureLevel,
  environment: row.environment,
  principal: row.principalProof === 'proven' ? row.principal : toldPrincipal(row.principal),
  principalProof: row.principalProof,
  hashSalt: row.hashSalt,
  limitSalt: row.limitSalt,
  workflowId: row.workflowId,
  role: row.role,
  bodyHash: row.bodyHash,
  createdAt: row.createdAt,
})

/** What a row says. */
export function readSession(row: StoredSession): SessionRow {
  const facts: StoredFacts = JSON.parse(row.facts)
  const state = JSON.parse(row.state)
  const head: SessionHead = {
    revision: row.revision,
    leaseUntil: row.leaseUntil,
    // Absent in what earlier versions wrote.
    leaseMs: facts.leaseMs ?? LIMITS.leaseSeconds * 1_000,
    state: { ...state, recent: JSON.parse(row.recent) },
    lastNarrowing: row.narrowing === null ? null : JSON.parse(row.narrowing),
    prepared: row.prepared === null ? null : JSON.parse(row.prepared),
    hasSuperseded: facts.hasSuperseded,
    ledger: facts.ledger,
    lastEvent: facts.lastEvent,
    allowedCalls: facts.allowedCalls,
    blockedCalls: facts.blockedCalls,
    lastReason: facts.lastReason,
  }
  return { fixed: fixedOf(row), head, now: row.now }
}

/** Null when the tenant has no such session. */
export async function findSession(sql: Queryable, tenantId: string, sessionId: string): Promise<StoredSession | null> {
  const [row] = await sql<StoredSession[]>`
    select s.*, h.revision, h.lease_until, h.facts, h.prepared, h.state, h.narrowing, h.recent, clock_timestamp() as now
    from sessions s join session_heads h on h.tenant_id = ${tenantId} and h.session_id = ${sessionId}
    where s.tenant_id = ${tenantId} and s.session_id = ${sessionId}`
  return row ?? null
}

/** Characters of what is parsed of a row. */
export const storedLength = ({ state, recent, narrowing, prepared }: StoredSession): number =>
  state.length + recent.length + (narrowing?.length ?? 0) + (prepared?.length ?? 0)

/** The same, read. */
export async function loadSession(sql: Queryable, tenantId: string, sessionId: string): Promise<SessionRow | null> {
  const row = await findSession(sql, tenantId, sessionId)
  return row === null ? null : readSession(row)
}

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
  /** Sessions without a holder for a day. */
  idle: number
}

/** The sessions of an agent that may go on. Those without a holder for a day only with `all`. */
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
