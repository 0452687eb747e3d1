import type { Queryable } from '../../postgres/sql.js'
import type { NewProposal } from './session-change.js'
import { textOf } from './session-head.js'
import type { SessionRow } from './session-row.js'

/** A proposal's record, which lies beside its event. The request is written as JSON already. */
export function recordOf(proposal: NewProposal, fence: number): string {
  const { request, bodyHash, decisions, cost, model, uncovered } = proposal
  const rest = JSON.stringify({ fence, bodyHash, decisions, cost, model, ...(uncovered.length > 0 && { uncovered }) })
  return `{"request":${textOf(request)},${rest.slice(1)}`
}

export interface StoredProposal {
  proposalId: string
  /** Of its event in the ledger. */
  seq: number
  bodyHash: string
  fence: number
  outcome: string
  cost: string
}

/** The proposal that used this prepared request. */
export async function findProposal(
  sql: Queryable,
  session: SessionRow,
  preparedRequestId: string,
): Promise<StoredProposal | null> {
  const [row] = await sql<StoredProposal[]>`
    select proposal_id, seq, body_hash, fence, outcome, cost from proposals
    where tenant_id = ${session.fixed.tenantId} and session_id = ${session.fixed.sessionId}
      and prepared_request_id = ${preparedRequestId}`
  return row ?? null
}
