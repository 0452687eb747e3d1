import type { Input, Reply, Routes, WorkflowEvent } from '@countersign/protocol'
import { ApiError } from '../../api-error.js'
import type { Context } from '../../context.js'
import { leaseFrom, type Sight } from '../../sessions/change-session.js'
import { requireAuthority, requireFence } from '../../sessions/guards.js'
import { findHandoff, type Handoff, listChainBelow, moveHandoff } from '../../store/handoffs.js'
import type { WorkflowRow } from '../../store/workflows.js'
import {
  changeWorkflow,
  lockMembers,
  memberOf,
  recordOnSession,
  recordOnWorkflow,
  requireLive,
} from '../../workflows/change-workflow.js'
import { handoffEvent, handoffView } from '../../workflows/handoff-view.js'

type Cause = Extract<WorkflowEvent, { type: 'handoff_reclaimed' }>['body']['cause']

/**
 * Takes back a handoff that nobody took in time, or whose holder is gone: its lease ran out, or it was stopped.
 * The holder, and everybody to whom it handed work on, may use no tool any more. Calls under way keep what they hold.
 */
export async function reclaimHandoff(
  ctx: Context,
  { params, body }: Input<Routes['reclaimHandoff']>,
): Promise<Reply<Routes['reclaimHandoff']>> {
  return changeWorkflow(ctx, params.workflow_id, async (locked) => {
    const { tx, workflow } = locked
    const handoff = await findHandoff(tx, workflow, params.handoff_id)
    if (handoff === null) throw new ApiError('NOT_FOUND')
    const chain = handoff.toSession === null ? [] : await listChainBelow(tx, workflow, handoff.toSession)
    const fallen = [handoff, ...chain]
    const holders = fallen.flatMap(({ toSession }) => toSession ?? [])
    const members = await lockMembers(locked, [...new Set([body.session_id, handoff.fromSession, ...holders])])
    const giver = memberOf(members, body.session_id)
    requireGiver(handoff, body.session_id)
    // Nobody else can take it any more, which is what reclaiming is for.
    if (handoff.state === 'reclaimed' || handoff.state === 'expired') {
      return { handoff: handoffView(handoff, workflow.now), ledger: giver.session.ledger }
    }
    requireLive(locked)
    requireAuthority(giver.session)
    requireFence(giver.session, body.fence)
    const cause = requireEligible(
      workflow,
      handoff,
      handoff.toSession === null ? null : memberOf(members, handoff.toSession),
    )

    for (const one of fallen) {
      if (!(await moveHandoff(tx, workflow, { handoff: one, move: 'reclaim', at: workflow.now }))) {
        throw new Error('a locked handoff was changed')
      }
    }
    let ledger = giver.session.ledger
    for (const member of members.values()) {
      const { sessionId } = member.session
      const events = eventsFor(workflow, fallen, sessionId)
      const isGiver = sessionId === body.session_id
      const leaseUntil = isGiver
        ? leaseFrom(workflow.now, member.session.state, member.plan)
        : member.session.leaseUntil
      const head = events.length === 0 ? member.session.ledger : await recordOnSession(member, events, { leaseUntil })
      if (isGiver) ledger = head
    }
    const at = workflow.now.toISOString()
    const told = fallen.map((one): WorkflowEvent => {
      const causeOfOne: Cause = one === handoff ? cause : 'chain'
      return { type: 'handoff_reclaimed', at, body: { handoff_id: one.handoffId, cause: causeOfOne } }
    })
    await recordOnWorkflow(tx, workflow, told)
    return { handoff: handoffView({ ...handoff, state: 'reclaimed', settledAt: workflow.now }, workflow.now), ledger }
  })
}

function requireGiver(handoff: Handoff, sessionId: string): void {
  if (handoff.fromSession === sessionId) return
  const detail = 'only the session that offered the handoff can reclaim it'
  throw new ApiError('HANDOFF_STATE', { state: handoff.state, detail })
}

/** Why it may be reclaimed; 409 with the time from which it may be, while somebody can still work on it. */
function requireEligible({ now }: WorkflowRow, handoff: Handoff, holder: Sight | null): Cause {
  if (handoff.state === 'completed') throw new ApiError('HANDOFF_STATE', { state: 'completed' })
  if (holder === null) {
    if (handoff.expiresAt > now) throw notEligible(handoff.expiresAt)
    return 'not_accepted'
  }
  const { state, leaseUntil } = holder.session
  const isStopped = state.status === 'KILLED' || state.status === 'COMPROMISED'
  if (!isStopped && leaseUntil > now) throw notEligible(leaseUntil)
  return 'holder_gone'
}

const notEligible = (from: Date) => new ApiError('HANDOFF_NOT_ELIGIBLE', { eligible_at: from.toISOString() })

function eventsFor(workflow: WorkflowRow, fallen: readonly Handoff[], sessionId: string) {
  return fallen.flatMap((handoff) => {
    const sides = (['from', 'to'] as const).filter(
      (side) => (side === 'from' ? handoff.fromSession : handoff.toSession) === sessionId,
    )
    return sides.map((side) => handoffEvent('handoff_reclaimed', { workflow, handoff, side }))
  })
}
