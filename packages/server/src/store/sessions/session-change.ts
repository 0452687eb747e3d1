import type { SessionState } from '@countersign/engine'
import type { LedgerHead } from '@countersign/protocol'
import { jsonText, statementByParts, type Values } from '../../postgres/fixed-statement.js'
import { KEEP_ARGUMENTS, KEEP_CONTENT, type NewContent } from './content.js'
import { type KeyProof, PROVEN, proofOf } from './key-proof.js'
import { appendEvent, appendEvents, type NewEvent } from './ledger.js'
import { SET_ASIDE, setAside } from './prepared-requests.js'
import { END_HOLDS, holdsEndAfterKill } from './resource-holds.js'
import { decisionCounts, facetsOf, NOTE_FACETS } from './session-facets.js'
import { changedParts, factsText, HEAD_PARTS, type HeadPart, partTexts } from './session-head.js'
import { copyRow, type PreparedRequest, type SessionRow } from './session-row.js'

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
  /** A request that the change makes void, unused. */
  readonly voids?: PreparedRequest | null
  readonly content?: readonly NewContent[]
}

/** The row as the change leaves it. */
export function rowAfter({ session, state, ledger, leaseUntil, prepared, voids, events }: SessionChange): SessionRow {
  const after = copyRow(session)
  const { allowed, blocked, lastReason } = decisionCounts(events)
  after.stamp = ledger.hash
  after.state = state
  after.ledger = ledger
  after.leaseUntil = leaseUntil
  if (prepared !== undefined) after.prepared = prepared
  if (voids) after.hasAside = true
  after.lastEvent = events.at(-1)?.type ?? session.lastEvent
  after.allowedCalls += allowed
  after.blockedCalls += blocked
  after.lastReason = lastReason ?? session.lastReason
  return after
}

/** What a change may have to do beside the session's head and its one event. */
export type ChangePart =
  | HeadPart
  | 'events'
  | 'proposal'
  | 'blocked'
  | 'status'
  | 'voids'
  | 'content'
  | 'arguments'
  | 'facets'
  | 'holds'
  | 'proof'

/**
 * The statement of a change: `changed` writes the session's head, only if nobody has written it since it was read, and
 * the parts that follow write for the session in `changed`.
 */
export const changeStatement = <Part extends string = never>(more: (has: (part: Part) => boolean) => string[]) =>
  statementByParts<ChangePart | Part>((has) => {
    const changed = `changed as (${writeHead(has, has('proof') ? PROVEN : '')} returning h.tenant_id, h.session_id)`
    return `with ${[changed, ...more(has), ...changeParts(has)].join(', ')} ${appendTo(has)}`
  })

/**
 * The update of a session's head. All of its guard lies in the row itself, so PostgreSQL checks it on the newest version,
 * also after waiting for somebody who held the row.
 */
export const writeHead = (has: (part: HeadPart) => boolean, furtherGuard: string) => `
      update session_heads h set stamp = :stamp::text, lease_until = :lease_until::timestamptz, facts = :facts::text
        ${HEAD_PARTS.map((part) => (has(part) ? `, ${part} = :${part}::text` : '')).join('')}
      where h.tenant_id = :tenant_id::text and h.session_id = :session_id::text and h.stamp = :known_stamp::text
        ${furtherGuard}`

/** The values of `writeHead`, but for those of the parts. */
export const writtenHead = (session: SessionRow, after: SessionRow): Values => ({
  tenant_id: session.tenantId,
  session_id: session.sessionId,
  known_stamp: session.stamp,
  stamp: after.stamp,
  lease_until: after.leaseUntil,
  facts: factsText(after),
})

/** The end of every change, which says by its rows whether anything was written. */
export const appendTo = (has: (part: ChangePart) => boolean): string =>
  `${has('events') ? appendEvents(has('proposal')) : appendEvent(has('proposal'))} returning 1`

/** The parts of a statement that stand between `changed` and its events. */
export const changeParts = (has: (part: ChangePart) => boolean): string[] => [
  ...(has('status') ? [NOTE_STATUS] : []),
  ...(has('voids') ? [SET_ASIDE] : []),
  ...(has('content') ? [KEEP_CONTENT] : []),
  ...(has('arguments') ? [KEEP_ARGUMENTS] : []),
  ...(has('blocked') ? [NOTE_BLOCKED] : []),
  ...(has('facets') ? [NOTE_FACETS] : []),
  ...(has('holds') ? [END_HOLDS] : []),
]

/** The CTE `noted`: sessions are listed by their status. */
const NOTE_STATUS = `noted as (
    update sessions s set status = :status::text from changed
    where s.tenant_id = changed.tenant_id and s.session_id = changed.session_id
  )`

/** The CTE `blocks`: the newest blocked calls of a tenant are found by their time. */
const NOTE_BLOCKED = `blocks as (
    insert into blocked_proposals (tenant_id, at, session_id, seq)
    select changed.tenant_id, :blocked_at::text::timestamptz, changed.session_id, :blocked_seq::bigint from changed
  )`

/** What a statement needs for a change: its parts, and the values of the head and of each part. */
export function changeOf(
  change: SessionChange,
  after: SessionRow,
  proof?: KeyProof | undefined,
): { values: Values[]; parts: ChangePart[] } {
  const { session, state, events, content = [], voids = null } = change
  const facets = facetsOf(change)
  const changed = changedParts(session, after)
  const parts: ChangePart[] = [...changed]
  const values: Values[] = [writtenHead(session, after), partTexts(after, changed)]
  const add: Add = (part, its) => {
    parts.push(part)
    values.push(its)
  }
  const [event] = events
  if (event !== undefined && events.length === 1) values.push(eventOf(event))
  else add('events', { events: jsonText(events), first_seq: session.ledger.seq + 1 })
  if (state.status !== session.state.status) add('status', { status: state.status })
  if (voids !== null) add('voids', setAside(voids))
  addContent(add, content, session.now)
  if (events[0] !== undefined && decisionCounts(events).blocked > 0)
    add('blocked', { blocked_at: events[0].at, blocked_seq: events[0].seq })
  if (facets.length > 0) add('facets', { facets: jsonText(facets), created_at: session.createdAt })
  if (isKilledIn(change)) add('holds', { holds_end: holdsEndAfterKill(session.now) })
  if (proof) add('proof', proofOf(proof))
  return { parts, values }
}

type Add = (part: ChangePart, its: Values) => void

/** Most changes that keep any content keep the arguments of a proposal's calls and nothing else. */
function addContent(add: Add, content: readonly NewContent[], now: Date): void {
  const [first] = content
  if (first === undefined) return
  const isArguments = content.length === 1 && first.kind === 'arguments'
  if (isArguments) add('arguments', { content_ref: first.ref, content_body: jsonText(first.body), now })
  else add('content', { content: jsonText(content), now })
}

/** The values of `appendEvent`. */
const eventOf = ({ seq, type, at, body, prev_hash, hash }: NewEvent): Values => ({
  seq,
  event_type: type,
  event_at: at,
  event_body: jsonText(body),
  prev_hash,
  event_hash: hash,
})

/** A session of a workflow: what its calls hold must come free, even if no receipt comes. */
const isKilledIn = ({ session, state }: SessionChange): boolean =>
  session.workflowId !== null && state.status === 'KILLED' && session.state.status !== 'KILLED'
