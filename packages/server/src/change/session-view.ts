import { type Plan, sha256Hex, snapshotOf } from '@countersign/engine'
import type { JsonObject, JsonValue, PendingCallView, SessionActivity, SessionView } from '@countersign/protocol'
import type { SessionRow } from '../store/sessions/session-row.js'

/** The server's record of a session as every reply shows it: no principal, no holder, no content. */
export function sessionView(session: SessionRow, plan: Plan): SessionView {
  const { fixed, head } = session
  const { state } = head
  return {
    session_id: fixed.sessionId,
    mode: 'AUTHORITATIVE',
    status: state.status,
    activity: activityOf(session),
    ended_at: state.endedAt ?? null,
    agent: state.agent,
    environment: fixed.environment,
    state_version: state.stateVersion,
    control_revision: state.controlRevision,
    fence: state.fence,
    lease_until: head.leaseUntil.toISOString(),
    plan_source: fixed.planSource,
    compiled_hash: fixed.compiledHash,
    unmatched_policy: fixed.unmatchedPolicy,
    capture_level: fixed.captureLevel,
    principal_proof: fixed.principalProof ?? (fixed.principal === null ? null : 'as_told'),
    labels: [...state.labels],
    tool_filter: state.toolFilter === null ? null : [...state.toolFilter],
    workflow_id: fixed.workflowId,
    role: fixed.role,
    created_at: fixed.createdAt.toISOString(),
    state: snapshotOf(state, plan, { sessionId: fixed.sessionId, lastNarrowing: head.lastNarrowing }),
    ledger: head.ledger,
  }
}

/** For the holder, who has no more than the token. An erasure leaves nothing of it. */
export const provenPrincipalOf = ({ fixed }: SessionRow): { principal?: JsonValue } =>
  fixed.principalProof === 'proven' && fixed.principal !== null ? { principal: fixed.principal } : {}

/** Whether the session is in use. Lists say the same in SQL: `activityOfRow`. */
export function activityOf({ head: { state, leaseUntil }, now }: SessionRow): SessionActivity {
  if (state.endedAt !== undefined || state.status === 'KILLED' || state.status === 'COMPROMISED') return 'ended'
  return leaseUntil > now ? 'running' : 'idle'
}

/** Calls that were allowed and have no outcome yet. */
export function pendingCalls({
  fixed: { sessionId },
  head: { state },
}: SessionRow): (Omit<PendingCallView, 'arguments' | 'claimed'> & { claimed: boolean })[] {
  return (state.open?.calls ?? [])
    .filter((call) => call.state !== 'resolved')
    .map((call) => ({
      pending_call_id: call.pending_call_id,
      call_id: call.call_id,
      tool_name: call.tool_name,
      argument_hash: call.argument_hash,
      state: call.state,
      checkpoint_required: call.checkpoints.length > 0,
      idempotency_key: sha256Hex(`${sessionId}:${call.pending_call_id}`),
      proposed_at: call.proposed_at,
      claimed: call.claim !== undefined,
    }))
}

/** The session in problem details: what a client needs to go on after a refusal. */
export function sessionProblem({ head: { state, ledger, leaseUntil } }: Pick<SessionRow, 'head'>): {
  session: JsonObject
} {
  return {
    session: {
      status: state.status,
      state_version: state.stateVersion,
      control_revision: state.controlRevision,
      fence: state.fence,
      lease_until: leaseUntil.toISOString(),
      labels: [...state.labels],
      ledger: { seq: ledger.seq, hash: ledger.hash },
    },
  }
}
