import { HANDOFF_MOVES, type HandoffState } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'
import { daysAgo } from '../days-ago.js'
import { findSome } from '../delete-some.js'
import type { WorkflowRow } from './workflows.js'

export interface Handoff {
  readonly handoffId: string
  readonly fromSession: string
  readonly fromRole: string
  readonly toRole: string
  readonly toSession: string | null
  readonly state: HandoffState
  readonly tools: string[] | null
  readonly bound: string[] | null
  readonly note: string | null
  readonly labels: string[]
  readonly bodyHash: string
  readonly offeredAt: Date
  readonly expiresAt: Date
  readonly settledAt: Date | null
}

type Of = Pick<WorkflowRow, 'tenantId' | 'workflowId'>

export async function insertHandoff(tx: Queryable, { tenantId, workflowId }: Of, handoff: Handoff): Promise<void> {
  const { tools, bound } = handoff
  await tx`
    insert into handoffs (
      tenant_id, workflow_id, handoff_id, from_session, from_role, to_role, state, tools, bound, note, labels,
      body_hash, offered_at, expires_at
    ) values (
      ${tenantId}, ${workflowId}, ${handoff.handoffId}, ${handoff.fromSession}, ${handoff.fromRole}, ${handoff.toRole},
      ${handoff.state}, ${tools === null ? null : JSON.stringify(tools)}::text::json,
      ${bound === null ? null : JSON.stringify(bound)}::text::json, ${handoff.note}, ${JSON.stringify(handoff.labels)}::text::json,
      ${handoff.bodyHash}, ${handoff.offeredAt}, ${handoff.expiresAt}
    )`
}

export async function findHandoff(sql: Queryable, of: Of, handoffId: string): Promise<Handoff | null> {
  const [row] = await sql<Handoff[]>`
    select ${columns(sql)} from handoffs
    where tenant_id = ${of.tenantId} and workflow_id = ${of.workflowId} and handoff_id = ${handoffId}`
  return row ?? null
}

/** The handoff with which a session joined. Null for a session that started without an offer. */
export async function findHandoffOfHolder(sql: Queryable, of: Of, sessionId: string): Promise<Handoff | null> {
  const [row] = await sql<Handoff[]>`
    select ${columns(sql)} from handoffs
    where tenant_id = ${of.tenantId} and workflow_id = ${of.workflowId} and to_session = ${sessionId}`
  return row ?? null
}

/** What a session handed on and has not been settled. */
export async function listOpenHandoffs(sql: Queryable, of: Of, fromSession: string): Promise<Handoff[]> {
  return sql<Handoff[]>`
    select ${columns(sql)} from handoffs
    where tenant_id = ${of.tenantId} and workflow_id = ${of.workflowId} and from_session = ${fromSession}
      and state in ('offered', 'accepted')
    order by handoff_id collate "C"`
}

/** What the sessions that hold open handoffs of this session, and theirs, handed on: all of it falls with the first. */
export async function listChainBelow(sql: Queryable, of: Of, sessionId: string): Promise<Handoff[]> {
  return sql<Handoff[]>`
    with recursive chain as (
      select h.handoff_id, h.to_session from handoffs h
      where h.tenant_id = ${of.tenantId} and h.workflow_id = ${of.workflowId} and h.from_session = ${sessionId}
        and h.state in ('offered', 'accepted')
      union
      select h.handoff_id, h.to_session from chain c join handoffs h on h.from_session = c.to_session
      where h.tenant_id = ${of.tenantId} and h.workflow_id = ${of.workflowId} and h.state in ('offered', 'accepted')
    )
    select ${columns(sql)} from handoffs
    where tenant_id = ${of.tenantId} and workflow_id = ${of.workflowId}
      and handoff_id in (select handoff_id from chain)
    order by handoff_id collate "C"`
}

export async function countHandoffs(sql: Queryable, of: Of): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from handoffs where tenant_id = ${of.tenantId} and workflow_id = ${of.workflowId}`
  return row?.count ?? 0
}

/** What the handoffs of a workflow and the tools of its sessions take: all of it is shown at once. */
export async function measureWorkflow(sql: Queryable, { tenantId, workflowId }: Of): Promise<number> {
  const [row] = await sql<{ bytes: number }[]>`
    select (
      (select coalesce(sum(octet_length(labels::text) + coalesce(octet_length(tools::text), 0)
        + coalesce(octet_length(note), 0)), 0) from handoffs where tenant_id = ${tenantId} and workflow_id = ${workflowId})
      + (select coalesce(sum(octet_length(body::text)), 0) from workflow_events
        where tenant_id = ${tenantId} and workflow_id = ${workflowId} and type = 'joined')
    )::int as bytes`
  return row?.bytes ?? 0
}

type Move = 'accept' | 'complete' | 'reclaim' | 'expire'

/** Moves a handoff on. False when it is no longer in a state that has this move. */
export async function moveHandoff(
  tx: Queryable,
  of: Of,
  { handoff, move, at, toSession, labels }: HandoffMove,
): Promise<boolean> {
  const moves: Partial<Record<Move, HandoffState>> = HANDOFF_MOVES[handoff.state]
  const to = moves[move]
  if (to === undefined) return false
  const rows = await tx`
    update handoffs set state = ${to}, settled_at = ${to === 'accepted' ? null : at},
      to_session = coalesce(${toSession ?? null}, to_session),
      labels = ${JSON.stringify(labels ?? handoff.labels)}::text::json
    where tenant_id = ${of.tenantId} and workflow_id = ${of.workflowId} and handoff_id = ${handoff.handoffId}
      and state = ${handoff.state}
    returning 1`
  return rows.length === 1
}

export interface HandoffMove {
  readonly handoff: Handoff
  readonly move: Move
  readonly at: Date
  /** The session that takes it. */
  readonly toSession?: string
  /** In place of those that went down with it. */
  readonly labels?: readonly string[]
}

export interface LapsedOffer {
  readonly tenantId: string
  readonly workflowId: string
  readonly handoffId: string
}

/**
 * Offers that were not taken in time, the oldest first; in turn between the tenants, so that none keeps the others waiting. Of a
 * tenant no more are looked at than are wanted in all: it may have millions.
 */
export async function listLapsedOffers(sql: Queryable, limit: number): Promise<LapsedOffer[]> {
  const isLapsed = sql`h.state = 'offered' and h.expires_at <= statement_timestamp()`
  const some = await sql`${across(sql, 'lapsed offers')} select 1 from handoffs h where ${isLapsed} limit 1`
  if (some.length === 0) return []
  const waiting = await sql<{ tenantId: string }[]>`
    ${across(sql, 'lapsed offers')} select t.tenant_id from tenants t cross join lateral (
      select expires_at from handoffs h where h.tenant_id = t.tenant_id and ${isLapsed} order by h.expires_at limit 1
    ) as first
    order by first.expires_at limit ${limit}`
  const lapsed: (LapsedOffer & { readonly turn: number })[] = []
  for (const { tenantId } of waiting) {
    const offers = await sql<LapsedOffer[]>`
      select tenant_id, workflow_id, handoff_id from handoffs h where h.tenant_id = ${tenantId} and ${isLapsed}
      order by h.expires_at limit ${limit}`
    lapsed.push(...offers.map((offer, turn) => ({ ...offer, turn })))
  }
  return lapsed.sort((a, b) => a.turn - b.turn).slice(0, limit)
}

/** Erases notes of handoffs that were settled more than `days` ago. Returns how many. */
export async function eraseOldNotes(sql: Queryable, days: number, limit: number): Promise<number> {
  let erased = 0
  const isOld = sql`note is not null and settled_at < ${daysAgo(sql, days)}`
  for (const isFound of await findSome(sql, 'handoffs', isOld, limit)) {
    const rows = await sql`update handoffs set note = null where ${isFound} and note is not null returning 1`
    erased += rows.length
  }
  return erased
}

const columns = (sql: Queryable) => sql`
  handoff_id, from_session, from_role, to_role, to_session, state, tools, bound, note, labels, body_hash, offered_at,
  expires_at, settled_at`
