import type { Queryable } from '../../postgres/sql.js'
import { changesQuestions, writeQuestions } from '../questions/question-changes.js'
import { extrasOf } from './change-extras.js'
import { UNNAMED_AGENT } from './content.js'
import type { NewEvent } from './ledger.js'
import { recordOf } from './proposals.js'
import type { NewReceipt } from './receipts.js'
import { writeWorkflowChange } from './resource-holds.js'
import type { NewProposal, SessionChange } from './session-change.js'
import { decisionCounts } from './session-facets.js'
import { factsText, stateText, textOf } from './session-head.js'
import type { PreparedRequest, SessionHead, SessionRow } from './session-row.js'
import type { KeyProof } from './write-functions.js'
import { createSession, prepare, propose, receive, record } from './write-functions.js'

/**
 * Writes a change of a session, all or nothing, by one function of the database; under the lock further statements of the
 * same transaction write questions to people, and what a workflow shares. False when the session was written since it was
 * read, or when the id of a new session or prepared request is taken.
 * A prepared request that was used before violates the key of the proposal that uses it again; a shared limit of which
 * others have used too much since it was read violates its bound (`isLimitTaken`); a token that opened another session
 * violates its key (`isTokenUsed`); a key to prove that is not valid any more is `isKeyLost`.
 */
export async function writeChange(sql: Queryable, change: SessionChange, proof?: KeyProof): Promise<boolean> {
  if (!(await write(sql, change, proof))) return false
  if (change.workflow !== undefined) await writeWorkflowChange(sql, change.session, change.workflow)
  if (changesQuestions(change)) await writeQuestions(sql, change)
  return true
}

function write(sql: Queryable, change: SessionChange, proof: KeyProof | undefined): Promise<boolean> {
  const { created, prepares, proposal, receipts } = change
  if (created !== undefined) return writeCreated(sql, change, created)
  if (proposal !== undefined) return writeProposal(sql, change, { proposal, proof })
  if (receipts !== undefined) return writeReceipts(sql, change, { receipts, proof })
  if (prepares !== undefined) return writePrepared(sql, change, { request: prepares, proof })
  return writeRecord(sql, change, proof)
}

// The values are written out, each function its own: joining groups of them takes as long as deciding.

function writePrepared(
  sql: Queryable,
  change: SessionChange,
  { request, proof }: { request: PreparedRequest; proof: KeyProof | undefined },
): Promise<boolean> {
  const { session, head } = change
  const { fixed, head: before } = session
  return prepare(sql, {
    tenant: fixed.tenantId,
    session: fixed.sessionId,
    known: before.revision,
    key_hash: proof?.keyHash ?? null,
    quota: proof?.quota ?? null,
    revision: head.revision,
    lease_until: head.leaseUntil,
    facts: factsText(head, session.now),
    prepared: changedPrepared(before, head),
    narrowing: changedNarrowing(before, head),
    request: request.id,
    has_superseded: before.hasSuperseded,
    extras: extrasOf(change, NONE),
  })
}

function writeProposal(
  sql: Queryable,
  change: SessionChange,
  { proposal, proof }: { proposal: NewProposal; proof: KeyProof | undefined },
): Promise<boolean> {
  const { session, head } = change
  const { fixed, head: before } = session
  const [event, ...events] = eventsOf(change)
  const content = change.content ?? []
  // Most proposals store the arguments of their calls and nothing else.
  const first = content[0]?.kind === 'arguments' ? content[0].text : null
  return propose(sql, {
    tenant: fixed.tenantId,
    session: fixed.sessionId,
    known: before.revision,
    key_hash: proof?.keyHash ?? null,
    quota: proof?.quota ?? null,
    revision: head.revision,
    lease_until: head.leaseUntil,
    facts: factsText(head, session.now),
    state: changedState(before, head),
    recent: changedRecent(before, head),
    seq: event.seq,
    type: event.type,
    at: event.at,
    body: JSON.stringify(event.body),
    prev_hash: event.prev_hash,
    hash: event.hash,
    request: proposal.request.id,
    with_tools: proposal.request.withTools,
    proposal: proposal.id,
    outcome: proposal.outcome,
    record: recordOf(proposal, before.state.fence),
    arguments: first,
    is_blocked: decisionCounts(change.events).blocked > 0,
    extras: extrasOf(change, { events, content: first === null ? content : content.slice(1) }),
  })
}

function writeReceipts(
  sql: Queryable,
  change: SessionChange,
  { receipts, proof }: { receipts: readonly NewReceipt[]; proof: KeyProof | undefined },
): Promise<boolean> {
  const { session, head } = change
  const { fixed, head: before } = session
  const [event, ...events] = eventsOf(change)
  const [receipt, ...others] = receipts
  return receive(sql, {
    tenant: fixed.tenantId,
    session: fixed.sessionId,
    known: before.revision,
    key_hash: proof?.keyHash ?? null,
    quota: proof?.quota ?? null,
    revision: head.revision,
    lease_until: head.leaseUntil,
    facts: factsText(head, session.now),
    state: changedState(before, head),
    recent: changedRecent(before, head),
    seq: event.seq,
    type: event.type,
    at: event.at,
    body: JSON.stringify(event.body),
    prev_hash: event.prev_hash,
    hash: event.hash,
    pending_call: receipt?.pending_call_id ?? null,
    receipt: receipt === undefined ? null : JSON.stringify(receipt),
    prepared: changedPrepared(before, head),
    narrowing: changedNarrowing(before, head),
    request: change.prepares?.id ?? null,
    has_superseded: before.hasSuperseded,
    extras: extrasOf(change, { events, receipts: others, content: change.content }),
  })
}

function writeRecord(sql: Queryable, change: SessionChange, proof: KeyProof | undefined): Promise<boolean> {
  const { session, head } = change
  const { fixed, head: before } = session
  const [event, ...events] = eventsOf(change)
  return record(sql, {
    tenant: fixed.tenantId,
    session: fixed.sessionId,
    known: before.revision,
    key_hash: proof?.keyHash ?? null,
    quota: proof?.quota ?? null,
    revision: head.revision,
    lease_until: head.leaseUntil,
    facts: factsText(head, session.now),
    state: changedState(before, head),
    recent: changedRecent(before, head),
    clears_prepared: head.prepared === null,
    seq: event.seq,
    type: event.type,
    at: event.at,
    body: JSON.stringify(event.body),
    prev_hash: event.prev_hash,
    hash: event.hash,
    extras: extrasOf(change, { events, content: change.content }),
  })
}

function writeCreated(
  sql: Queryable,
  change: SessionChange,
  { upload, token }: NonNullable<SessionChange['created']>,
): Promise<boolean> {
  const { session, head } = change
  const { tenantId, sessionId } = session.fixed
  const [event] = eventsOf(change)
  return createSession(sql, {
    tenant: tenantId,
    session: sessionId,
    fixed: fixedText(session),
    revision: head.revision,
    lease_until: head.leaseUntil,
    facts: factsText(head, session.now),
    state: stateText(head.state),
    recent: textOf(head.state.recent),
    seq: event.seq,
    type: event.type,
    at: event.at,
    body: JSON.stringify(event.body),
    prev_hash: event.prev_hash,
    hash: event.hash,
    plan: upload,
    token: token && JSON.stringify({ issuer: token.issuer, jti_hash: token.jtiHash, expires_at: token.expiresAt }),
    extras: extrasOf(change, NONE),
  })
}

/** The columns of a session's row that are written once. */
const fixedText = ({ fixed, head: { state } }: SessionRow): string =>
  JSON.stringify({
    status: state.status,
    compiled_hash: fixed.compiledHash,
    plan_source: fixed.planSource,
    unmatched_policy: fixed.unmatchedPolicy,
    capture_level: fixed.captureLevel,
    agent: state.agent ?? UNNAMED_AGENT,
    environment: fixed.environment,
    principal: fixed.principal,
    principal_proof: fixed.principalProof,
    hash_salt: fixed.hashSalt,
    limit_salt: fixed.limitSalt,
    workflow_id: fixed.workflowId,
    role: fixed.role,
    body_hash: fixed.bodyHash,
  })

const NONE = {}

/** Null where it stays as it is. Values of a session never change: one that is the same object has been written already. */
const changedState = ({ state: before }: SessionHead, { state }: SessionHead): string | null =>
  state === before ? null : stateText(state)
const changedRecent = ({ state: before }: SessionHead, { state }: SessionHead): string | null =>
  state.recent === before.recent ? null : textOf(state.recent)
const changedPrepared = (before: SessionHead, { prepared }: SessionHead): string | null =>
  prepared === null || prepared === before.prepared ? null : textOf(prepared)
const changedNarrowing = (before: SessionHead, { lastNarrowing: narrowing }: SessionHead): string | null =>
  narrowing === null || narrowing === before.lastNarrowing ? null : textOf(narrowing)

function eventsOf({ events: [first, ...further] }: SessionChange): [NewEvent, ...NewEvent[]] {
  if (first === undefined) throw new Error('a change of a session has no event')
  return [first, ...further]
}
