import type { Decision } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'
import type { KeyProof } from './key-proof.js'
import { TAKE_FROM_ASIDE } from './prepared-requests.js'
import { changeOf, changeStatement, type SessionChange } from './session-change.js'
import { textOf } from './session-head.js'
import type { PreparedRequest, SessionRow } from './session-row.js'

export interface ProposalWrite {
  readonly change: SessionChange
  readonly after: SessionRow
  readonly request: PreparedRequest
  readonly proposal: {
    readonly id: string
    readonly bodyHash: string
    readonly outcome: string
    readonly decisions: readonly Decision[]
    readonly cost: string
    readonly model: string | null
  }
}

/**
 * Uses the prepared request and keeps the proposal with its event, all or nothing. False when the session was written
 * since it was read. A request that was used before violates the key.
 */
export async function writeProposal(
  sql: Queryable,
  { change, after, request, proposal }: ProposalWrite,
  proof: KeyProof | undefined,
): Promise<boolean> {
  const { values, parts } = changeOf(change, after, proof)
  parts.push('proposal')
  const { id, bodyHash, outcome, decisions, cost, model } = proposal
  const rest = JSON.stringify({ fence: change.session.state.fence, bodyHash, decisions, cost, model })
  values.push({
    request_id: request.id,
    proposal_id: id,
    outcome,
    record: `{"request":${textOf(request)},${rest.slice(1)}`,
  })
  const rows = await keepProposal(request.withTools ? parts : [...parts, 'aside'])(sql, ...values)
  return rows.length > 0
}

const keepProposal = changeStatement<'aside'>((has) => (has('aside') ? [TAKE_FROM_ASIDE] : []))

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
    select proposal_id, seq, body_hash, fence, outcome, decisions, cost from proposals
    where tenant_id = ${session.tenantId} and session_id = ${session.sessionId}
      and prepared_request_id = ${preparedRequestId}`
  return row ?? null
}
