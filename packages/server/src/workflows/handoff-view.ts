import type { HandoffView, SessionEvent } from '@countersign/protocol'
import type { Handoff } from '../store/workflows/handoffs.js'
import type { WorkflowRow } from '../store/workflows/workflows.js'

/** A handoff as every reply shows it. An offer that was not taken in time shows as expired from that moment. */
export function handoffView(handoff: Handoff, now: Date): HandoffView {
  const isLapsed = handoff.state === 'offered' && handoff.expiresAt <= now
  return {
    handoff_id: handoff.handoffId,
    from_session: handoff.fromSession,
    from_role: handoff.fromRole,
    to_role: handoff.toRole,
    to_session: handoff.toSession,
    state: isLapsed ? 'expired' : handoff.state,
    tools: handoff.tools,
    note: handoff.note,
    labels: handoff.labels,
    offered_at: handoff.offeredAt.toISOString(),
    expires_at: handoff.expiresAt.toISOString(),
    settled_at: handoff.settledAt?.toISOString() ?? null,
  }
}

type ReportedEvent = 'handoff_accepted' | 'handoff_expired'

/** What the ledger of a session says about a handoff that it gave or took. */
export function handoffEvent<T extends ReportedEvent>(
  type: T,
  about: { workflow: WorkflowRow; handoff: Handoff; side: 'from' | 'to' },
): Extract<SessionEvent, { type: T }> {
  const event = { type, at: about.workflow.now.toISOString(), body: handoffFacts(about) }
  return event as Extract<SessionEvent, { type: T }>
}

/** The facts that every such event holds; `role` is that of the session which takes the work. */
export const handoffFacts = ({
  workflow,
  handoff,
  side,
}: {
  workflow: Pick<WorkflowRow, 'workflowId'>
  handoff: Pick<Handoff, 'handoffId' | 'toRole'>
  side: 'from' | 'to'
}) => ({ handoff_id: handoff.handoffId, workflow_id: workflow.workflowId, role: handoff.toRole, side })
