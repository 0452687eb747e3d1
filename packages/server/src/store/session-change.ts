import type { SessionState } from '@countersign/engine'
import type { LedgerHead } from '@countersign/protocol'
import { KEEP_CONTENT, type NewContent } from './content.js'
import { jsonText, statementByParts, type Values } from './fixed-statement.js'
import { type KeyProof, PROVEN, proofOf } from './key-proof.js'
import { APPEND_EVENT, APPEND_EVENTS, type NewEvent } from './ledger.js'
import { END_HOLDS, holdsEndAfterKill } from './resource-holds.js'
import { decisionCounts, facetsOf, NOTE_FACETS } from './session-facets.js'
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

/** The row as the change leaves it. */
export function rowAfter({ session, state, ledger, leaseUntil, prepared, events }: SessionChange): SessionRow {
  const after = copyRow(session)
  after.revision += 1
  after.state = state
  after.ledger = ledger
  after.leaseUntil = leaseUntil
  if (prepared !== undefined) after.prepared = prepared
  after.lastEvent = events.at(-1)?.type ?? session.lastEvent
  return after
}

/** A row that may be changed. Field by field: a spread of one so wide takes ten times as long, several times a turn. */
export const copyRow = (row: SessionRow): { -readonly [Field in keyof SessionRow]: SessionRow[Field] } => ({
  tenantId: row.tenantId,
  sessionId: row.sessionId,
  revision: row.revision,
  leaseUntil: row.leaseUntil,
  compiledHash: row.compiledHash,
  planSource: row.planSource,
  unmatchedPolicy: row.unmatchedPolicy,
  captureLevel: row.captureLevel,
  environment: row.environment,
  principal: row.principal,
  hashSalt: row.hashSalt,
  state: row.state,
  lastNarrowing: row.lastNarrowing,
  prepared: row.prepared,
  ledger: row.ledger,
  lastEvent: row.lastEvent,
  workflowId: row.workflowId,
  role: row.role,
  bodyHash: row.bodyHash,
  createdAt: row.createdAt,
  now: row.now,
})

/** What a change may have to do beside the session's row and its events. */
export type ChangePart = 'events' | 'content' | 'facets' | 'holds' | 'proof'

/**
 * The statement of a change: `changed` writes the session's row, only if nobody has written it since it was read, and
 * the parts that follow write for the session in `changed`. All of the guard lies in the row itself, so PostgreSQL
 * checks it on the newest version, also after waiting for somebody who held the row.
 */
export const changeStatement = <Part extends string = never>(more: (has: (part: Part) => boolean) => string[]) =>
  statementByParts<ChangePart | Part>(
    (has) => `
    with ${[changeRow(has('proof')), ...more(has), ...changeParts(has)].join(', ')}
    select 1 from changed`,
  )

/** The parts of a statement that follow `changed` in every change. */
export const changeParts = (has: (part: ChangePart) => boolean): string[] => [
  has('events') ? APPEND_EVENTS : APPEND_EVENT,
  ...(has('content') ? [KEEP_CONTENT] : []),
  ...(has('facets') ? [NOTE_FACETS] : []),
  ...(has('holds') ? [END_HOLDS] : []),
]

const changeRow = (provesKey: boolean) => `changed as (
      update sessions s set
        revision = s.revision + 1, status = :status::text, state_version = :state_version::bigint,
        control_revision = :control_revision::bigint, fence = :fence::bigint, holder_id = :holder_id::text,
        lease_until = :lease_until::timestamptz, state = :state::text::json,
        prepared = case when :keeps_prepared::boolean then s.prepared else :prepared::text::json end,
        ledger_seq = :ledger_seq::bigint, ledger_hash = :ledger_hash::text, last_event = :last_event::text,
        updated_at = :now::timestamptz, allowed_calls = s.allowed_calls + :allowed_calls::int,
        blocked_calls = s.blocked_calls + :blocked_calls::int,
        last_reason = coalesce(:last_reason::text, s.last_reason)
      where s.tenant_id = :tenant_id::text and s.session_id = :session_id::text and s.revision = :revision::bigint
        ${provesKey ? PROVEN : ''}
      returning s.tenant_id, s.session_id, s.created_at
    )`

/** What a statement needs for a change: its parts, and the values of the row and of each part. */
export function changeOf(
  change: SessionChange,
  proof: KeyProof | undefined,
): { values: readonly Values[]; parts: ChangePart[] } {
  const { session, content = [] } = change
  const facets = facetsOf(change)
  const parts: ChangePart[] = []
  const values: Values[] = [rowOf(change), decisionCounts(change.events), { revision: session.revision }]
  const add = (part: ChangePart, its: Values) => {
    parts.push(part)
    values.push(its)
  }
  const [event] = change.events
  if (event !== undefined && change.events.length === 1) values.push(eventOf(event))
  else add('events', { events: jsonText(change.events) })
  if (content.length > 0) add('content', { content: jsonText(content) })
  if (facets.length > 0) add('facets', { facets: jsonText(facets) })
  if (isKilledIn(change)) add('holds', { holds_end: holdsEndAfterKill(session.now) })
  if (proof) add('proof', proofOf(session, proof))
  return { parts, values }
}

/** As the columns of a session's row and of its events name them. */
export function rowOf(change: SessionChange) {
  const { session, state } = change
  return {
    tenant_id: session.tenantId,
    session_id: session.sessionId,
    now: session.now,
    status: state.status,
    state_version: state.stateVersion,
    control_revision: state.controlRevision,
    fence: state.fence,
    holder_id: state.holderId,
    lease_until: change.leaseUntil,
    state: jsonText(state),
    keeps_prepared: change.prepared === undefined,
    prepared: change.prepared ? jsonText(change.prepared) : null,
    ledger_seq: change.ledger.seq,
    ledger_hash: change.ledger.hash,
    last_event: change.events.at(-1)?.type ?? session.lastEvent,
    first_seq: session.ledger.seq + 1,
  } satisfies Values
}

/** What `APPEND_EVENT` needs beside the row: its number, type and hash are those of the row's head. */
export const eventOf = ({ at, body, prev_hash }: NewEvent) => ({
  event_at: at,
  event_body: jsonText(body),
  prev_hash,
})

/** A session of a workflow: what its calls hold must come free, even if no receipt comes. */
const isKilledIn = ({ session, state }: SessionChange): boolean =>
  session.workflowId !== null && state.status === 'KILLED' && session.state.status !== 'KILLED'
