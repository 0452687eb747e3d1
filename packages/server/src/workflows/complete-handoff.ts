import { type Input, LIMITS, type Reply, type Routes, type SessionEvent } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import {
  changeWorkflow,
  type LockedWorkflow,
  lockMembers,
  memberOf,
  recordOnSession,
  recordOnWorkflow,
  requireLive,
} from '../change/change-workflow.js'
import { requireAuthority, requireFence, requireNothingPending, requireRecovered } from '../change/guards.js'
import type { Context } from '../context/context.js'
import { findHandoff, type Handoff, listOpenHandoffs, moveHandoff } from '../store/workflows/handoffs.js'
import { handoffFacts, handoffView } from './handoff-view.js'

/**
 * Marks a handoff complete. Its labels go back to the session that offered it, and what it lent ends with it.
 * Only the session that took it can do so, once all it did and handed on is settled.
 */
export async function completeHandoff(
  ctx: Context,
  { params, body }: Input<Routes['completeHandoff']>,
): Promise<Reply<Routes['completeHandoff']>> {
  return changeWorkflow(ctx, params.workflow_id, async (locked) => {
    const { tx, workflow } = locked
    const handoff = await findHandoff(tx, workflow, params.handoff_id)
    if (handoff === null) throw new ApiError('NOT_FOUND')
    const members = await lockMembers(locked, [...new Set([handoff.fromSession, body.session_id])])
    const holder = memberOf(members, body.session_id)
    requireHolder(handoff, body.session_id)
    if (handoff.state === 'completed') {
      return { handoff: handoffView(handoff, workflow.now), ledger: holder.session.head.ledger }
    }
    requireLive(locked)
    if (handoff.state !== 'accepted') throw new ApiError('HANDOFF_STATE', { state: handoff.state })
    requireAuthority(holder.session)
    requireFence(holder.session, body.fence)
    requireRecovered(holder.session)
    requireNothingPending(holder.session)
    await requireNothingHandedOn(locked, body.session_id)

    const giver = memberOf(members, handoff.fromSession)
    const labels = [...holder.session.head.state.labels]
    if (new Set([...giver.session.head.state.labels, ...labels]).size > LIMITS.labelsPerSession) {
      throw new ApiError('LABEL_LIMIT')
    }
    if (!(await moveHandoff(tx, workflow, { handoff, move: 'complete', at: workflow.now, labels }))) {
      throw new Error('a locked handoff was changed')
    }
    const at = workflow.now.toISOString()
    const eventOf = (side: 'from' | 'to'): SessionEvent => ({
      type: 'handoff_completed',
      at,
      body: { ...handoffFacts({ workflow, handoff, side }), labels },
    })
    await recordOnSession(giver, [eventOf('from')])
    const ledger = await recordOnSession(holder, [eventOf('to')])
    await recordOnWorkflow(tx, workflow, [
      { type: 'handoff_completed', at, body: { handoff_id: handoff.handoffId, labels } },
    ])
    const completed: Handoff = { ...handoff, state: 'completed', labels, settledAt: workflow.now }
    return { handoff: handoffView(completed, workflow.now), ledger }
  })
}

function requireHolder(handoff: Handoff, sessionId: string): void {
  if (handoff.toSession === sessionId) return
  const detail = 'only the session that accepted the handoff can complete it'
  throw new ApiError('HANDOFF_STATE', { state: handoff.state, detail })
}

/** Otherwise the labels of the session that works on it now would never come back. */
async function requireNothingHandedOn({ tx, workflow }: LockedWorkflow, sessionId: string): Promise<void> {
  const open = await listOpenHandoffs(tx, workflow, sessionId)
  const waiting = open.filter((one) => handoffView(one, workflow.now).state !== 'expired')
  if (waiting.length === 0) return
  throw new ApiError('HANDOFF_STATE', {
    state: 'accepted',
    detail: 'the session has open handoffs of its own',
    open: waiting.map(({ handoffId }) => handoffId),
  })
}
