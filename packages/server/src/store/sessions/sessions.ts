import type { SessionState } from '@countersign/engine'
import type {
  CaptureLevel,
  CompiledSession,
  Environment,
  JsonValue,
  NarrowingSnapshot,
  UnmatchedPolicy,
} from '@countersign/protocol'
import { fixedStatement, jsonText, statementByParts } from '../../postgres/fixed-statement.js'
import type { Queryable } from '../../postgres/sql.js'
import { KEEP_PLAN } from '../governance/plans.js'
import type { NewEvent } from './ledger.js'
import {
  appendTo,
  type ChangePart,
  changeOf,
  changeParts,
  changeStatement,
  rowAfter,
  type SessionChange,
  writtenHead,
} from './session-change.js'
import { labelFacets } from './session-facets.js'
import { HEAD_PARTS, partTexts, type StoredFacts } from './session-head.js'
import { copyRow, type PreparedRequest, type SessionRow } from './session-row.js'

/** What the row looks like on its way out of PostgreSQL. */
interface StoredSession {
  tenant_id: string
  session_id: string
  stamp: string
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
  workflow_id: string | null
  role: string | null
  body_hash: string
  created_at: string
  now: string
}

/** Of a session `s` and its head `h`, what `readSession` reads. */
const ROW = `s.*, h.stamp, h.lease_until, h.facts::json as facts, h.prepared::json as prepared, h.state::json as state,
  h.narrowing::json as narrowing, h.recent::json as recent, clock_timestamp() as now`

/** A scalar subselect of one session; where nothing has been written since the row that is known, of the time alone. */
export const SELECT_SESSION = (tenantId: string) => `
    select case
      when s.tenant_id = :known_tenant::text and h.stamp = :known_stamp::text then to_json(clock_timestamp())
      else (select row_to_json(found) from (select ${ROW}) as found)
    end
    from sessions s join session_heads h using (tenant_id, session_id)
    where s.tenant_id = ${tenantId} and s.session_id = :session_id::text`

/** The row that is known, as `SELECT_SESSION` asks for it. */
export const stampOf = (known: SessionRow | null) => ({
  known_tenant: known?.tenantId ?? '',
  known_stamp: known?.stamp ?? '',
})

/** What `SELECT_SESSION` selected. Null when the tenant has no such session. */
export function readSession(selected: unknown, known: SessionRow | null = null): SessionRow | null {
  if (selected === null || selected === undefined) return null
  if (typeof selected === 'string' && known !== null) {
    const row = copyRow(known)
    row.now = new Date(selected)
    return row
  }
  const row = selected as StoredSession
  const { facts } = row
  return {
    tenantId: row.tenant_id,
    sessionId: row.session_id,
    stamp: row.stamp,
    leaseUntil: new Date(row.lease_until),
    compiledHash: row.compiled_hash,
    planSource: row.plan_source,
    unmatchedPolicy: row.unmatched_policy,
    captureLevel: row.capture_level,
    environment: row.environment,
    principal: row.principal,
    hashSalt: row.hash_salt,
    state: { ...row.state, recent: row.recent },
    lastNarrowing: row.narrowing,
    prepared: row.prepared,
    hasAside: facts.hasAside,
    ledger: facts.ledger,
    lastEvent: facts.lastEvent,
    allowedCalls: facts.allowedCalls,
    blockedCalls: facts.blockedCalls,
    lastReason: facts.lastReason,
    workflowId: row.workflow_id,
    role: row.role,
    bodyHash: row.body_hash,
    createdAt: new Date(row.created_at),
    now: new Date(row.now),
  }
}

export async function loadSession(sql: Queryable, tenantId: string, sessionId: string): Promise<SessionRow | null> {
  const [row] = await load(sql, { tenant_id: tenantId, session_id: sessionId, ...stampOf(null) })
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

/** Those of the sessions that the tenant has, in the order of their ids. */
export async function loadSessions(
  sql: Queryable,
  tenantId: string,
  sessionIds: readonly string[],
): Promise<SessionRow[]> {
  const rows = await sql<{ found: unknown }[]>`
    select row_to_json(found) as found from (
      select ${sql.unsafe(ROW)} from sessions s join session_heads h using (tenant_id, session_id)
      where s.tenant_id = ${tenantId} and s.session_id = any (${[...sessionIds]}::text[])
      order by s.session_id collate "C"
    ) as found`
  return rows.flatMap((row) => readSession(row.found) ?? [])
}

export interface NewSession {
  readonly session: SessionRow
  readonly events: readonly NewEvent[]
  /** The plan that came with the request. */
  readonly upload: CompiledSession | null
}

/** Creates the session with its first event, and keeps the plan that came along. False when the id is taken. */
export async function insertSession(sql: Queryable, { session, events, upload }: NewSession): Promise<boolean> {
  const { state } = session
  const facets = labelFacets(state.labels)
  const parts: (ChangePart | 'plan')[] = ['events']
  if (facets.length > 0) parts.push('facets')
  if (upload !== null) parts.push('plan')
  const rows = await createRow(parts)(sql, writtenHead(session, session), partTexts(session, HEAD_PARTS), {
    status: state.status,
    events: jsonText(events),
    facets: jsonText(facets),
    compiled_hash: session.compiledHash,
    compiled_session: upload === null ? null : jsonText(upload),
    plan_source: session.planSource,
    unmatched_policy: session.unmatchedPolicy,
    capture_level: session.captureLevel,
    agent: state.agent,
    environment: session.environment,
    principal: jsonText(session.principal),
    hash_salt: session.hashSalt,
    workflow_id: session.workflowId,
    role: session.role,
    body_hash: session.bodyHash,
    created_at: session.createdAt,
  })
  return rows.length === 1
}

const CREATE_ROW = `changed as (
      insert into sessions (
        tenant_id, session_id, status, compiled_hash, plan_source, unmatched_policy, capture_level, agent, environment,
        principal, hash_salt, workflow_id, role, body_hash, created_at
      )
      values (
        :tenant_id::text, :session_id::text, :status::text, :compiled_hash::text, :plan_source::text,
        :unmatched_policy::text, :capture_level::text, :agent::text, :environment::text,
        nullif(:principal::text, 'null')::json, :hash_salt::text, :workflow_id::text, :role::text, :body_hash::text,
        :created_at::timestamptz
      )
      on conflict do nothing
      returning tenant_id, session_id
    ), headed as (
      insert into session_heads (tenant_id, session_id, stamp, lease_until, facts, prepared, state, narrowing, recent)
      select changed.tenant_id, changed.session_id, :stamp::text, :lease_until::timestamptz, :facts::text,
        :prepared::text, :state::text, :narrowing::text, :recent::text
      from changed
    )`

const createRow = statementByParts<ChangePart | 'plan'>(
  (has) => `
    with ${[CREATE_ROW, ...changeParts(has), ...(has('plan') ? [`plan as (${KEEP_PLAN})`] : [])].join(', ')}
    ${appendTo(has)}`,
)

/** A change that has no records beside its events. False when the session was written since it was read. */
export async function writeControl(sql: Queryable, change: SessionChange): Promise<boolean> {
  const { values, parts } = changeOf(change, rowAfter(change))
  const rows = await control(parts)(sql, ...values)
  return rows.length > 0
}

const control = changeStatement(() => [])
