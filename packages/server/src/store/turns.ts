import type { ContractFailure, Decision, NarrowedTool, NarrowingSnapshot } from '@countersign/protocol'
import { keepContent, type NewContent } from './content.js'
import type { Queryable } from './database.js'
import { appendEvents } from './ledger.js'
import { changeSessionRow, jsonText, type SessionChange, type SessionRow } from './sessions.js'

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
  const rows = await sql`
    with locked as materialized (
      select 1 from sessions
      where tenant_id = ${session.tenantId} and session_id = ${session.sessionId} and revision = ${session.revision}
      for no key update skip locked
    ), changed as (
      update sessions s set
        revision = s.revision + 1, lease_until = ${write.leaseUntil},
        last_narrowing = ${jsonText(write.lastNarrowing)}::text::json,
        prepared = ${request.withTools ? sql`${jsonText(request)}::text::json` : sql`s.prepared`},
        updated_at = ${session.now}
      from locked
      where s.tenant_id = ${session.tenantId} and s.session_id = ${session.sessionId} and s.revision = ${session.revision}
      returning s.tenant_id, s.session_id
    ), kept as (
      insert into prepared_requests (
        tenant_id, session_id, prepared_request_id, state_version, control_revision, fence, compiled_hash,
        request_hash, with_tools, allowed, removed, input_failures, provider, model, digest, prepared_at, expires_at
      )
      select tenant_id, session_id, ${request.id}, ${request.bound.state_version}::bigint,
        ${request.bound.control_revision}::bigint, ${request.bound.fence}::bigint, ${request.compiledHash},
        ${request.requestHash}, ${request.withTools}::boolean, ${jsonText(request.allowed)}::text::json,
        ${jsonText(request.removed)}::text::json,
        ${request.inputFailures === null ? null : jsonText(request.inputFailures)}::text::json, ${request.provider},
        ${request.model}, ${request.digest},
        ${request.preparedAt}::timestamptz, ${request.expiresAt}::timestamptz
      from changed
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
  readonly content: readonly NewContent[]
}

/**
 * Uses the prepared request, keeps the proposal and its event, and registers the allowed calls, all or nothing.
 * False when the session was written since it was read.
 */
export async function writeProposal(sql: Queryable, write: ProposalWrite): Promise<boolean> {
  const { session, proposal } = write
  const rows = await sql`
    with ${changeSessionRow(sql, write)},
    consumed as (
      update prepared_requests p set consumed_at = ${session.now} from changed
      where p.tenant_id = changed.tenant_id and p.session_id = changed.session_id
        and p.prepared_request_id = ${write.preparedRequestId} and p.consumed_at is null
    ), proposed as (
      insert into proposals (
        tenant_id, session_id, prepared_request_id, proposal_id, seq, fence, body_hash, outcome, decisions, cost, model,
        proposed_at
      )
      select tenant_id, session_id, ${write.preparedRequestId}, ${proposal.id}, ${session.ledger.seq + 1}::bigint,
        ${session.state.fence}::bigint, ${proposal.bodyHash}, ${proposal.outcome},
        ${jsonText(proposal.decisions)}::text::json, ${proposal.cost}::numeric, ${proposal.model},
        ${session.now}::timestamptz
      from changed
    ), registered as (
      insert into pending_calls (
        tenant_id, session_id, pending_call_id, proposal_id, call_id, tool_name, argument_hash, proposed_at
      )
      select changed.tenant_id, changed.session_id, c.pending_call_id, ${proposal.id}, c.call_id, c.tool_name,
        c.argument_hash, ${session.now}::timestamptz
      from changed, json_to_recordset(${jsonText(write.pendingCalls)}::text::json)
        as c (pending_call_id text, call_id text, tool_name text, argument_hash text)
    ), appended as (${appendEvents(sql, write.events)}),
    kept as (${keepContent(sql, write.content, session.now)})
    select 1 from changed`
  return rows.length === 1
}

export interface StoredProposal {
  proposalId: string
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
    select proposal_id, body_hash, fence, outcome, decisions, cost::text from proposals
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
