import type { ContractFailure, Decision, NarrowedTool, NarrowingSnapshot } from '@countersign/protocol'
import { keepContent } from './content.js'
import type { Queryable } from './database.js'
import { appendEvents } from './ledger.js'
import { changeInput, changeSessionRow, readInput, type SessionChange } from './session-change.js'
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

/**
 * Keeps a prepared request; one with tools becomes the session's, and the one before is void. False when the session
 * was written since it was read. An id that was used before violates the key.
 * Not waited for by the disk: a prepared request that a crash loses only makes its proposal fail.
 */
export async function writePreparedRequest(sql: Queryable, write: PreparedWrite): Promise<boolean> {
  const { session, request } = write
  const input = {
    tenant_id: session.tenantId,
    session_id: session.sessionId,
    revision: session.revision,
    now: session.now,
    lease_until: write.leaseUntil,
    last_narrowing: write.lastNarrowing,
    prepared: request.withTools ? request : null,
    prepared_request_id: request.id,
    ...request.bound,
    compiled_hash: request.compiledHash,
    request_hash: request.requestHash,
    with_tools: request.withTools,
    allowed: request.allowed,
    removed: request.removed,
    input_failures: request.inputFailures,
    provider: request.provider,
    model: request.model,
    digest: request.digest,
    expires_at: request.expiresAt,
  }
  const rows = await sql`
    with input as materialized (
      select * from json_to_record(${JSON.stringify(input)}::text::json) as i (
        tenant_id text, session_id text, revision bigint, now timestamptz, lease_until timestamptz, last_narrowing json,
        prepared json, prepared_request_id text, state_version bigint, control_revision bigint, fence bigint,
        compiled_hash text, request_hash text, with_tools boolean, allowed json, removed json, input_failures json,
        provider text, model text, digest text, expires_at timestamptz
      )
    ), changed as (
      update sessions s set
        revision = s.revision + 1, lease_until = input.lease_until, last_narrowing = input.last_narrowing,
        prepared = coalesce(input.prepared, s.prepared), updated_at = input.now
      from input
      where s.tenant_id = input.tenant_id and s.session_id = input.session_id and s.revision = input.revision
      returning 1
    ), kept as (
      insert into prepared_requests (
        tenant_id, session_id, prepared_request_id, state_version, control_revision, fence, compiled_hash,
        request_hash, with_tools, allowed, removed, input_failures, provider, model, digest, prepared_at, expires_at
      )
      select tenant_id, session_id, prepared_request_id, state_version, control_revision, fence, compiled_hash,
        request_hash, with_tools, allowed, removed, input_failures, provider, model, digest, now, expires_at
      from changed, input
    )
    select set_config('synchronous_commit', 'off', true) from changed`
  return rows.length === 1
}

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

export interface NewPendingCall {
  pending_call_id: string
  call_id: string
  tool_name: string
  argument_hash: string
}

export interface ProposalWrite extends SessionChange {
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
export async function writeProposal(sql: Queryable, write: ProposalWrite): Promise<boolean> {
  const { proposal } = write
  const input = {
    ...changeInput(write),
    prepared_request_id: write.preparedRequestId,
    proposal_id: proposal.id,
    body_hash: proposal.bodyHash,
    outcome: proposal.outcome,
    decisions: proposal.decisions,
    cost: proposal.cost,
    model: proposal.model,
    pending_calls: write.pendingCalls,
  }
  const more = sql`, prepared_request_id text, proposal_id text, body_hash text, outcome text, decisions json,
      cost numeric, model text, pending_calls json`
  const rows = await sql`
    with ${readInput(sql, input, more)}, ${changeSessionRow(sql, write)}, consumed as (
      update prepared_requests p set consumed_at = (select now from input) from changed
      where p.tenant_id = changed.tenant_id and p.session_id = changed.session_id
        and p.prepared_request_id = (select prepared_request_id from input) and p.consumed_at is null
    ), proposed as (
      insert into proposals (
        tenant_id, session_id, prepared_request_id, proposal_id, seq, fence, body_hash, outcome, decisions, cost, model,
        proposed_at
      )
      select input.tenant_id, input.session_id, prepared_request_id, proposal_id, first_seq, fence, body_hash, outcome,
        decisions, cost, model, now
      from changed, input
    ), registered as (
      insert into pending_calls (
        tenant_id, session_id, pending_call_id, proposal_id, call_id, tool_name, argument_hash, proposed_at
      )
      select input.tenant_id, input.session_id, c.pending_call_id, proposal_id, c.call_id, c.tool_name,
        c.argument_hash, now
      from changed, input, json_to_recordset(input.pending_calls)
        as c (pending_call_id text, call_id text, tool_name text, argument_hash text)
    ), ${appendEvents(sql)}${keepContent(sql, write)}
    select 1 from changed`
  return rows.length === 1
}

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
