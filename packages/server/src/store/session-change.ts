import type { SessionState } from '@countersign/engine'
import type { LedgerHead } from '@countersign/protocol'
import type postgres from 'postgres'
import type { NewContent } from './content.js'
import type { Queryable } from './database.js'
import type { NewEvent } from './ledger.js'
import { endHolds } from './resource-holds.js'
import { decisionCounts, facetsOf, noteFacets } from './session-facets.js'
import type { SessionRow } from './sessions.js'
import type { PreparedRequest } from './turns.js'

/** A change of a session that its ledger records. */
export interface SessionChange {
  /** As it was when the change was decided. */
  readonly session: SessionRow
  readonly state: SessionState
  readonly events: readonly NewEvent[]
  readonly ledger: LedgerHead
  readonly leaseUntil: Date
  /** Default: stays as it is. */
  readonly prepared?: PreparedRequest | null
  readonly content?: readonly NewContent[]
}

/*
 * Every write of a session is one statement with one parameter: a JSON object, read by the CTE `input`. The statement's
 * text is then always the same, so that it is prepared once, and the driver has one value to handle and not fifty.
 */

/** The members of `input` that every change has, as `inputColumns` names them. */
export function changeInput(change: SessionChange): Record<string, unknown> {
  const { session, state } = change
  return {
    tenant_id: session.tenantId,
    session_id: session.sessionId,
    revision: session.revision,
    now: session.now,
    status: state.status,
    state_version: state.stateVersion,
    control_revision: state.controlRevision,
    fence: state.fence,
    holder_id: state.holderId,
    lease_until: change.leaseUntil,
    state,
    keeps_prepared: change.prepared === undefined,
    prepared: change.prepared ?? null,
    ledger_seq: change.ledger.seq,
    ledger_hash: change.ledger.hash,
    last_event: change.events.at(-1)?.type ?? session.lastEvent,
    ...decisionCounts(change.events),
    first_seq: session.ledger.seq + 1,
    events: change.events,
    content: change.content ?? [],
  }
}

/** The CTE `input`. `more` names the columns that only this statement has. */
export function readInput(sql: Queryable, input: object, more: Fragment = sql``): Fragment {
  return sql`input as materialized (
    select * from json_to_record(${JSON.stringify(input)}::text::json) as i (
      tenant_id text, session_id text, revision bigint, now timestamptz, status text, state_version bigint,
      control_revision bigint, fence bigint, holder_id text, lease_until timestamptz, state json,
      keeps_prepared boolean, prepared json, ledger_seq bigint, ledger_hash text, last_event text,
      allowed_calls int, blocked_calls int, last_reason text, first_seq bigint, events json, content json${more}
    )
  )`
}

type Fragment = postgres.PendingQuery<postgres.Row[]>

/**
 * The CTE `changed`: the session's row, written only if nobody has written it since it was read. All of the guard lies
 * in the row itself, so PostgreSQL checks it on the newest version, also after waiting for somebody who held the row.
 */
export function changeSessionRow(sql: Queryable, change: SessionChange): Fragment {
  return sql`changed as (
      update sessions s set
        revision = s.revision + 1, status = input.status, state_version = input.state_version,
        control_revision = input.control_revision, fence = input.fence, holder_id = input.holder_id,
        lease_until = input.lease_until, state = input.state,
        prepared = case when input.keeps_prepared then s.prepared else input.prepared end,
        ledger_seq = input.ledger_seq, ledger_hash = input.ledger_hash, last_event = input.last_event,
        updated_at = input.now, allowed_calls = s.allowed_calls + input.allowed_calls,
        blocked_calls = s.blocked_calls + input.blocked_calls, last_reason = coalesce(input.last_reason, s.last_reason)
      from input
      where s.tenant_id = input.tenant_id and s.session_id = input.session_id and s.revision = input.revision
      returning s.tenant_id, s.session_id, s.created_at
    )${noteFacets(sql, facetsOf(change))}${isKilledIn(change) ? endHolds(sql, change.session.now) : sql``}`
}

/** A session of a workflow: what its calls hold must come free, even if no receipt comes. */
const isKilledIn = ({ session, state }: SessionChange): boolean =>
  session.workflowId !== null && state.status === 'KILLED' && session.state.status !== 'KILLED'
