import type { SessionRow } from '@countersign/protocol'
import type { ListedSession } from '../store/dashboard/session-list.js'

export const sessionRow = (session: ListedSession): SessionRow => ({
  session_id: session.sessionId,
  agent: session.agent,
  environment: session.environment,
  status: session.status,
  activity: session.activity,
  ended_at: session.endedAt?.toISOString() ?? null,
  phase: session.phase,
  labels: session.labels,
  state_version: session.stateVersion,
  allowed: session.allowedCalls,
  blocked: session.blockedCalls,
  in_doubt: session.inDoubt,
  unanswered: session.unanswered,
  last_reason: session.lastReason,
  actual_cost: Number(session.actualCost),
  workflow_id: session.workflowId,
  created_at: session.createdAt.toISOString(),
  updated_at: session.updatedAt.toISOString(),
})
