import type { ContractFailure, Decision, NarrowedTool, NarrowingSnapshot } from '@countersign/protocol'
import type { Queryable } from './database.js'
import { jsonText, statementByParts, type Values } from './fixed-statement.js'
import { type KeyProof, PROVEN, proofOf } from './key-proof.js'
import { changeOf, changeStatement, copyRow, type SessionChange } from './session-change.js'
import type { SessionRow } from './sessions.js'

/** A request that was prepared for a model call, with what it is bound to. */
export interface PreparedRequest {
  readonly id: string
  readonly bound: { readonly state_version: number; readonly control_revision: number; readonly fence: number }
  readonly compiledHash: string
  readonly requestHash: string
  readonly withTools: boolean
  readonly allowed: readonly string[]
  readonly removed: readonly NarrowedTool[]
  /** By tool, without the values found. Null: every input invariant held. */
  readonly inputFailures: readonly { readonly tool: string; readonly failures: readonly ContractFailure[] }[] | null
  readonly provider: string | null
  readonly model: string | null
  readonly digest: string
  readonly preparedAt: string
  readonly expiresAt: string
}

export interface PreparedWrite {
  readonly session: SessionRow
  readonly request: PreparedRequest
  readonly lastNarrowing: NarrowingSnapshot
  readonly leaseUntil: Date
}

/** The session's row as `writePreparedRequest` leaves it. */
export function requestRowAfter({ session, request, lastNarrowing, leaseUntil }: PreparedWrite): SessionRow {
  const after = copyRow(session)
  after.revision += 1
  after.leaseUntil = leaseUntil
  after.lastNarrowing = lastNarrowing
  if (request.withTools) after.prepared = request
  return after
}

/**
 * Keeps a prepared request; one with tools becomes the session's, and the one before is void. False when the session
 * was written since it was read. An id that was used before violates the key.
 * Not waited for by the disk: a prepared request that a crash loses only makes its proposal fail.
 */
export async function writePreparedRequest(
  sql: Queryable,
  write: PreparedWrite,
  proof: KeyProof | undefined,
): Promise<boolean> {
  const { session, request } = write
  const values = {
    tenant_id: session.tenantId,
    session_id: session.sessionId,
    revision: session.revision,
    now: session.now,
    lease_until: write.leaseUntil,
    last_narrowing: jsonText(write.lastNarrowing),
    prepared: request.withTools ? jsonText(request) : null,
    prepared_request_id: request.id,
    compiled_hash: request.compiledHash,
    request_hash: request.requestHash,
    with_tools: request.withTools,
    allowed: jsonText(request.allowed),
    removed: jsonText(request.removed),
    input_failures: request.inputFailures === null ? null : jsonText(request.inputFailures),
    provider: request.provider,
    model: request.model,
    digest: request.digest,
    expires_at: request.expiresAt,
  }
  const rows = await (proof
    ? keepRequest(['proof'])(sql, values, request.bound, proofOf(session, proof))
    : keepRequest([])(sql, values, request.bound))
  return rows.length === 1
}

const keepRequest = statementByParts<'proof'>(
  (has) => `
    with changed as (
      update sessions s set
        revision = s.revision + 1, lease_until = :lease_until::timestamptz,
        last_narrowing = :last_narrowing::text::json, prepared = coalesce(:prepared::text::json, s.prepared),
        updated_at = :now::timestamptz
      where s.tenant_id = :tenant_id::text and s.session_id = :session_id::text and s.revision = :revision::bigint
        ${has('proof') ? PROVEN : ''}
      returning 1
    ), kept as (
      insert into prepared_requests (
        tenant_id, session_id, prepared_request_id, state_version, control_revision, fence, compiled_hash,
        request_hash, with_tools, allowed, removed, input_failures, provider, model, digest, prepared_at, expires_at
      )
      select :tenant_id::text, :session_id::text, :prepared_request_id::text, :state_version::bigint,
        :control_revision::bigint, :fence::bigint, :compiled_hash::text, :request_hash::text, :with_tools::boolean,
        :allowed::text::json, :removed::text::json, :input_failures::text::json, :provider::text, :model::text,
        :digest::text, :now::timestamptz, :expires_at::timestamptz
      from changed
    )
    select set_config('synchronous_commit', 'off', true) from changed`,
)

export interface StoredRequest extends PreparedRequest {
  /** Null: unused. */
  readonly consumedAt: Date | null
}

export async function findPreparedRequest(
  sql: Queryable,
  session: SessionRow,
  id: string,
): Promise<StoredRequest | null> {
  const [row] = await sql<
    (Omit<StoredRequest, 'id' | 'bound' | 'preparedAt' | 'expiresAt'> & {
      stateVersion: number
      controlRevision: number
      fence: number
      preparedAt: Date
      expiresAt: Date
    })[]
  >`
    select state_version, control_revision, fence, compiled_hash, request_hash, with_tools, allowed, removed,
      input_failures, provider, model, digest, prepared_at, expires_at, consumed_at
    from prepared_requests
    where tenant_id = ${session.tenantId} and session_id = ${session.sessionId} and prepared_request_id = ${id}`
  if (!row) return null
  const { stateVersion, controlRevision, fence, preparedAt, expiresAt, ...rest } = row
  return {
    id,
    bound: { state_version: stateVersion, control_revision: controlRevision, fence },
    ...rest,
    preparedAt: preparedAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  }
}

/** By the names of its columns. */
export type NewPendingCall = {
  readonly pending_call_id: string
  readonly call_id: string
  readonly tool_name: string
  readonly argument_hash: string
}

export interface ProposalWrite {
  readonly change: SessionChange
  readonly preparedRequestId: string
  readonly proposal: {
    readonly id: string
    readonly bodyHash: string
    readonly outcome: string
    readonly decisions: readonly Decision[]
    readonly cost: string
    readonly model: string | null
  }
  readonly pendingCalls: readonly NewPendingCall[]
}

/**
 * Uses the prepared request, keeps the proposal and its event, and registers the allowed calls, all or nothing.
 * False when the session was written since it was read.
 */
export async function writeProposal(
  sql: Queryable,
  { change, preparedRequestId, proposal, pendingCalls }: ProposalWrite,
  proof: KeyProof | undefined,
): Promise<boolean> {
  const { values, parts } = changeOf(change, proof)
  const [call] = pendingCalls
  const isOne = call !== undefined && pendingCalls.length === 1
  const calls: Values = isOne ? call : { pending_calls: jsonText(pendingCalls) }
  const rows = await keepProposal(isOne ? parts : [...parts, 'calls'])(sql, ...values, calls, {
    prepared_request_id: preparedRequestId,
    proposal_id: proposal.id,
    body_hash: proposal.bodyHash,
    outcome: proposal.outcome,
    decisions: jsonText(proposal.decisions),
    cost: proposal.cost,
    model: proposal.model,
  })
  return rows.length === 1
}

const keepProposal = changeStatement<'calls'>((has) => [
  `consumed as (
      update prepared_requests p set consumed_at = :now::timestamptz
      where p.tenant_id = :tenant_id::text and p.session_id = :session_id::text
        and p.prepared_request_id = :prepared_request_id::text and p.consumed_at is null
        and exists (select 1 from changed)
    )`,
  `proposed as (
      insert into proposals (
        tenant_id, session_id, prepared_request_id, proposal_id, seq, fence, body_hash, outcome, decisions, cost, model,
        proposed_at
      )
      select changed.tenant_id, changed.session_id, :prepared_request_id::text, :proposal_id::text, :first_seq::bigint,
        :fence::bigint, :body_hash::text, :outcome::text, :decisions::text::json, :cost::numeric, :model::text,
        :now::timestamptz
      from changed
    )`,
  `registered as (
      insert into pending_calls (
        tenant_id, session_id, pending_call_id, proposal_id, call_id, tool_name, argument_hash, proposed_at
      )
      ${has('calls') ? CALLS : ONE_CALL}
    )`,
])

/** Most proposals have one call, and taking it from JSON would cost as much as keeping it. */
const ONE_CALL = `select changed.tenant_id, changed.session_id, :pending_call_id::text, :proposal_id::text,
        :call_id::text, :tool_name::text, :argument_hash::text, :now::timestamptz
      from changed`

const CALLS = `select changed.tenant_id, changed.session_id, c.pending_call_id, :proposal_id::text, c.call_id,
        c.tool_name, c.argument_hash, :now::timestamptz
      from changed, json_to_recordset(:pending_calls::text::json)
        as c (pending_call_id text, call_id text, tool_name text, argument_hash text)`

export interface StoredProposal {
  proposalId: string
  /** Of its event in the ledger. */
  seq: number
  bodyHash: string
  fence: number
  outcome: string
  decisions: Decision[]
  cost: string
}

/** The proposal that used this prepared request. */
export async function findProposal(
  sql: Queryable,
  session: SessionRow,
  preparedRequestId: string,
): Promise<StoredProposal | null> {
  const [row] = await sql<StoredProposal[]>`
    select proposal_id, seq, body_hash, fence, outcome, decisions, cost::text from proposals
    where tenant_id = ${session.tenantId} and session_id = ${session.sessionId}
      and prepared_request_id = ${preparedRequestId}`
  return row ?? null
}

/** Removes prepared requests that expired before a time, and were never used or used long ago. Returns how many went. */
export async function deleteOldPreparedRequests(sql: Queryable, before: Date, limit: number): Promise<number> {
  const rows = await sql`
    delete from prepared_requests where ctid = any (array(
      select ctid from prepared_requests where expires_at < ${before} limit ${limit}
    )) returning 1`
  return rows.length
}
