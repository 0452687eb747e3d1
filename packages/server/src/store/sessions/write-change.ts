import { jsonText, statementByParts, type Values } from '../../postgres/fixed-statement.js'
import type { Queryable } from '../../postgres/sql.js'
import { SESSION_NOT_ARCHIVED } from '../archives/archived-ledgers.js'
import { AUDIT, auditOf, type NewAuditEntry } from '../audit.js'
import { STORE_PLAN } from '../governance/plans.js'
import { changesQuestions, writeQuestions } from '../questions/question-changes.js'
import { contentRows, type NewContent, STORE_ARGUMENTS, STORE_CONTENT, UNNAMED_AGENT } from './content.js'
import { NOTE_FINDABLE_IDS } from './findable-ids.js'
import { type KeyProof, PROVEN, proofOf } from './key-proof.js'
import { appendEvent, appendEvents, type NewEvent } from './ledger.js'
import { NOT_SUPERSEDED, NOT_USED, SUPERSEDE, superseded, TAKE_SUPERSEDED } from './prepared-requests.js'
import { recordOf } from './proposals.js'
import { STORE_LATE_RECEIPTS, STORE_RECEIPT, STORE_RECEIPTS } from './receipts.js'
import { END_HOLDS, holdsEndAfterKill, writeWorkflowChange } from './resource-holds.js'
import type { SessionChange } from './session-change.js'
import { decisionCounts, facetsOf, NOTE_FACETS } from './session-facets.js'
import { changedParts, factsText, HEAD_PARTS, type HeadPart, partTexts } from './session-head.js'
import type { SessionHead, SessionRow } from './session-row.js'
import { COUNT_SHARED } from './shared-counts.js'
import { NOTE_STICKY_LABELS, stickyValues } from './sticky-labels.js'
import { NOTE_STOPPED_CALLS, stoppedCalls } from './stopped-calls.js'
import { USE_TOKEN, usedTokenValues } from './used-tokens.js'

/**
 * Writes a change of a session, all or nothing, in one statement; under the lock further ones of the same transaction write
 * questions to people, and what a workflow shares. False when the session was written since it was read, when the key to
 * prove is not valid any more, or when the id of a new session or prepared request is taken.
 * A prepared request that was used before violates the key of the proposal that uses it again; a shared limit of which
 * others have used too much since it was read violates its bound (`isLimitTaken`); a token that opened another session
 * violates its key (`isTokenUsed`).
 */
export async function writeChange(sql: Queryable, change: SessionChange, proof?: KeyProof): Promise<boolean> {
  const { parts, values } = partsOf(change, proof)
  const rows = await statement(parts)(sql, ...values)
  if (rows.length === 0) return false
  if (change.workflow !== undefined) await writeWorkflowChange(sql, change.session, change.workflow)
  if (changesQuestions(change)) await writeQuestions(sql, change)
  return true
}

/** What a change may have to do beside the session's head and its one event. */
type Part =
  | HeadPart
  | 'created'
  | 'plan'
  | 'prepares'
  | 'others'
  | 'superseded'
  | 'proposal'
  | 'taken'
  | 'receipt'
  | 'receipts'
  | 'late'
  | 'events'
  | 'blocked'
  | 'status'
  | 'content'
  | 'arguments'
  | 'stopped'
  | 'facets'
  | 'holds'
  | 'audit'
  | 'findable'
  | 'counts'
  | 'sticky'
  | 'token'
  | 'proof'

type Has = (part: Part) => boolean

/** The CTEs that may stand between `changed` and the events. */
const CTES: readonly (readonly [Part, string])[] = [
  ['taken', TAKE_SUPERSEDED],
  ['receipt', STORE_RECEIPT],
  ['receipts', STORE_RECEIPTS],
  ['late', STORE_LATE_RECEIPTS],
  [
    'status',
    // Sessions are listed by their status, and by whether they have ended.
    `noted as (
    update sessions s set status = :status::text, ended_at = :ended_at::timestamptz from changed
    where s.tenant_id = changed.tenant_id and s.session_id = changed.session_id
  )`,
  ],
  ['superseded', SUPERSEDE],
  ['content', STORE_CONTENT],
  ['arguments', STORE_ARGUMENTS],
  [
    'blocked',
    // The newest blocked calls of a tenant are found by their time.
    `blocks as (
    insert into blocked_proposals (tenant_id, at, session_id, seq)
    select changed.tenant_id, :blocked_at::text::timestamptz, changed.session_id, :blocked_seq::bigint from changed
  )`,
  ],
  ['stopped', NOTE_STOPPED_CALLS],
  ['facets', NOTE_FACETS],
  ['holds', END_HOLDS],
  ['audit', AUDIT],
  ['findable', NOTE_FINDABLE_IDS],
  ['counts', COUNT_SHARED],
  ['sticky', NOTE_STICKY_LABELS],
  ['token', USE_TOKEN],
  ['plan', `plan as (${STORE_PLAN})`],
]

/**
 * `changed` writes the session's head, only if it is unchanged since it was read; the CTEs that follow write for
 * the session in `changed`, and the end says by its rows whether anything was written.
 */
const statement = statementByParts<Part>((has) => {
  const ctes = CTES.filter(([part]) => has(part)).map(([, text]) => text)
  if (has('prepares')) return prepareStatement(has, ctes)
  const changed = has('created')
    ? CREATE_ROW
    : `changed as (${updateHead(has, has('proof') ? PROVEN : '')} returning h.tenant_id, h.session_id)`
  const append = has('events') ? appendEvents(has('proposal')) : appendEvent(has('proposal'))
  return `with ${[changed, ...ctes].join(', ')} ${append} returning 1`
})

/** Without an event, and not waited for by the disk: a prepared request that a crash loses only makes its proposal fail. */
function prepareStatement(has: Has, ctes: readonly string[]): string {
  const guards = [has('proof') ? PROVEN : '', NOT_USED, has('others') ? NOT_SUPERSEDED : '']
  const changed = updateHead(has, guards.join(' '))
  const withoutDisk = `set_config('synchronous_commit', 'off', true)`
  if (ctes.length === 0) return `${changed} returning ${withoutDisk}`
  return `with changed as (${changed} returning h.tenant_id, h.session_id), ${ctes.join(', ')} select ${withoutDisk} from changed`
}

/**
 * The update of a session's head. All of its guard lies in the row itself, so PostgreSQL checks it on the newest version,
 * also after waiting for another holder of the row.
 */
const updateHead = (has: Has, furtherGuard: string) => `
      update session_heads h set revision = :revision::text, lease_until = :lease_until::timestamptz, facts = :facts::text
        ${HEAD_PARTS.map((part) => (has(part) ? `, ${part} = :${part}::text` : '')).join('')}
      where h.tenant_id = :tenant_id::text and h.session_id = :session_id::text and h.revision = :known_revision::text
        ${furtherGuard}`

const CREATE_ROW = `changed as (
      insert into sessions (
        tenant_id, session_id, status, compiled_hash, plan_source, unmatched_policy, capture_level, agent, environment,
        principal, principal_proof, hash_salt, limit_salt, workflow_id, role, body_hash, created_at
      )
      select
        :tenant_id::text, :session_id::text, :status::text, :compiled_hash::text, :plan_source::text,
        :unmatched_policy::text, :capture_level::text, :agent::text, :environment::text,
        nullif(:principal::text, 'null')::json, :principal_proof::text, :hash_salt::text, :limit_salt::text, :workflow_id::text, :role::text, :body_hash::text,
        :created_at::timestamptz
      where ${SESSION_NOT_ARCHIVED}
      on conflict do nothing
      returning tenant_id, session_id
    ), headed as (
      insert into session_heads (tenant_id, session_id, revision, lease_until, facts, prepared, state, narrowing, recent)
      select changed.tenant_id, changed.session_id, :revision::text, :lease_until::timestamptz, :facts::text,
        :prepared::text, :state::text, :narrowing::text, :recent::text
      from changed
    )`

type Add = (part: Part, its: Values) => void

/** The parts of the statement that writes a change, and the values of the head and of each part. */
function partsOf(change: SessionChange, proof: KeyProof | undefined): { parts: Part[]; values: Values[] } {
  const { session, head } = change
  const changed = change.created === undefined ? changedParts(session.head, head) : HEAD_PARTS
  const parts: Part[] = [...changed]
  const values: Values[] = [headValues(session, head), partTexts(head, changed)]
  const add: Add = (part, its) => {
    parts.push(part)
    values.push(its)
  }
  if (change.prepares === undefined) addEvents(add, values, change)
  else addPrepared(add, parts, change, change.prepares.id)
  if (change.superseded) add('superseded', superseded(change.superseded))
  if (change.proposal !== undefined) {
    add('proposal', recordOf(change.proposal, session.head.state.fence))
    if (!change.proposal.request.withTools) parts.push('taken')
  }
  if (change.receipts !== undefined) addReceipts(add, values, change)
  if (change.content !== undefined) addContent(add, change.content, session.now)
  const audit = change.audit ?? breakerEntry(change)
  if (audit !== undefined) add('audit', auditOf(audit))
  if (change.findBy !== undefined && change.findBy.length > 0) addFindable(add, session, change.findBy)
  if (change.counts !== undefined) add('counts', { counts: jsonText(change.counts) })
  if (change.sticky !== undefined) add('sticky', stickyValues(change.sticky))
  if (change.created !== undefined) addCreated(add, session, change.created)
  if (proof !== undefined) add('proof', proofOf(proof))
  return { parts, values }
}

/** A circuit breaker kills in the course of a request: that is done by the service, not by the sender of the request. */
function breakerEntry({ session: { fixed }, events }: SessionChange): NewAuditEntry | undefined {
  if (!events.some(({ type, body }) => type === 'killed' && body.by === 'breaker')) return undefined
  const { tenantId, sessionId } = fixed
  return {
    tenantId,
    action: 'session_killed',
    actor: 'system',
    subject: sessionId,
    detail: 'the circuit breaker tripped',
  }
}

const headValues = ({ fixed, head: before, now }: SessionRow, head: SessionHead): Values => ({
  tenant_id: fixed.tenantId,
  session_id: fixed.sessionId,
  known_revision: before.revision,
  revision: head.revision,
  lease_until: head.leaseUntil,
  facts: factsText(head, now),
})

/** The events, and what else of them is written to be found by. */
function addEvents(add: Add, values: Values[], change: SessionChange): void {
  const { session, head, events } = change
  const [event] = events
  if (event !== undefined && events.length === 1) values.push(eventOf(event))
  else add('events', { events: jsonText(events), first_seq: session.head.ledger.seq + 1 })
  const { status, endedAt } = head.state
  if (status !== session.head.state.status || endedAt !== session.head.state.endedAt)
    add('status', { status, ended_at: endedAt === undefined ? null : new Date(endedAt) })
  if (change.proposal !== undefined && event !== undefined && decisionCounts(events).blocked > 0)
    add('blocked', { blocked_at: event.at, blocked_seq: event.seq })
  const stopped = stoppedCalls(change)
  if (stopped.length > 0) add('stopped', { stopped: jsonText(stopped), stopped_at: event?.at ?? '' })
  const facets = facetsOf(change)
  if (facets.length > 0) add('facets', { facets: jsonText(facets), created_at: session.fixed.createdAt })
  if (isKilledInWorkflow(change)) add('holds', { holds_end: holdsEndAfterKill(session.now) })
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

/** What the calls of a killed session hold must come free, even if no receipt comes. */
const isKilledInWorkflow = ({ session, head }: SessionChange): boolean =>
  session.fixed.workflowId !== null && head.state.status === 'KILLED' && session.head.state.status !== 'KILLED'

function addPrepared(add: Add, parts: Part[], { session }: SessionChange, id: string): void {
  add('prepares', { prepared_request_id: id })
  if (session.head.hasSuperseded) parts.push('others')
}

/** Most batches hold one receipt, which needs no list. */
function addReceipts(add: Add, values: Values[], { session, receipts = [], lateReceipts = [] }: SessionChange): void {
  values.push({ receipts_seq: session.head.ledger.seq + 1 })
  const [receipt] = receipts
  if (receipt !== undefined && receipts.length === 1)
    add('receipt', { pending_call_id: receipt.pending_call_id, receipt: jsonText(receipt) })
  else if (receipts.length > 0) add('receipts', { receipts: jsonText(receipts) })
  if (lateReceipts.length > 0) add('late', { late_receipts: jsonText(lateReceipts), now: session.now })
}

/** Most changes that store any content store the arguments of a proposal's calls and nothing else. */
function addContent(add: Add, content: readonly NewContent[], now: Date): void {
  const [first] = content
  if (first === undefined) return
  const isArguments = content.length === 1 && first.kind === 'arguments'
  if (isArguments) add('arguments', { content_ref: first.ref, content_body: first.text, now })
  else add('content', { content: contentRows(content), now })
}

function addFindable(add: Add, { fixed, head, now }: SessionRow, ids: readonly string[]): void {
  const { agent } = head.state
  if (agent === null || fixed.environment === null) return
  add('findable', {
    find_by: jsonText(ids),
    find_agent: agent,
    find_environment: fixed.environment,
    find_at: now,
  })
}

function addCreated(
  add: Add,
  { fixed, head: { state } }: SessionRow,
  { upload, token }: NonNullable<SessionChange['created']>,
): void {
  add('created', {
    status: state.status,
    agent: state.agent ?? UNNAMED_AGENT,
    compiled_hash: fixed.compiledHash,
    plan_source: fixed.planSource,
    unmatched_policy: fixed.unmatchedPolicy,
    capture_level: fixed.captureLevel,
    environment: fixed.environment,
    principal: jsonText(fixed.principal),
    principal_proof: fixed.principalProof,
    hash_salt: fixed.hashSalt,
    limit_salt: fixed.limitSalt,
    workflow_id: fixed.workflowId,
    role: fixed.role,
    body_hash: fixed.bodyHash,
    created_at: fixed.createdAt,
  })
  if (upload !== null) add('plan', { compiled_session: upload })
  if (token !== null) add('token', usedTokenValues(token))
}
