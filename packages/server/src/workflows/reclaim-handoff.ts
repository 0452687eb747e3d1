import {
  type Input,
  LIMITS,
  type Reply,
  type Routes,
  type SessionEvent,
  type WorkflowEvent,
} from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { groupBy } from '../base/group-by.js'
import type { LoadedSession } from '../change/change-session.js'
import {
  changeWorkflow,
  type LockedWorkflow,
  loadMember,
  recordOnSession,
  recordOnWorkflow,
  requireLive,
} from '../change/change-workflow.js'
import { requireAuthority, requireFence } from '../change/guards.js'
import type { Context } from '../context/context.js'
import { lockSessions } from '../store/sessions/sessions.js'
import { findHandoff, type Handoff, listChainBelow, moveHandoff } from '../store/workflows/handoffs.js'
import type { WorkflowRow } from '../store/workflows/workflows.js'
import { handoffFacts, handoffView } from './handoff-view.js'

type Cause = Extract<WorkflowEvent, { type: 'handoff_reclaimed' }>['body']['cause']

/**
 * Takes back a handoff that was not taken in time, or whose holder is gone: its lease ran out, or it was stopped.
 * The holder, and everybody to whom it handed work on, may use no tool any more. Calls in flight still hold their resources.
 * Their labels come back to the session that goes on with the work.
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
    const sessionIds = [...new Set([body.session_id, handoff.fromSession, ...holders])]
    await lockSessions(tx, workflow.tenantId, sessionIds)
    const giver = await loadMember(locked, body.session_id)
    requireGiver(handoff, body.session_id)
    // It can no longer be taken, which is what reclaiming is for.
    if (handoff.state === 'reclaimed' || handoff.state === 'expired') {
      return { handoff: handoffView(handoff, workflow.now), ledger: giver.session.head.ledger }
    }
    requireLive(locked)
    requireAuthority(giver.session)
    requireFence(giver.session, body.fence)
    const holder = handoff.toSession === null ? null : await loadMember(locked, handoff.toSession)
    const cause = requireEligible(workflow, handoff, holder)

    const members = await labelsOfMembers(locked, sessionIds)
    const labelsOf = labelsLost(fallen, members)
    const labels = new Map(fallen.map((one) => [one, labelsOf(one.toSession)]))
    for (const [one, brought] of labels) {
      requireRoom(members.get(one.fromSession)?.labels ?? [], brought)
      const move = { handoff: one, move: 'reclaim', at: workflow.now, labels: shownLabels(one, brought) } as const
      if (!(await moveHandoff(tx, workflow, move))) {
        throw new Error('a locked handoff was changed')
      }
    }
    let ledger = giver.session.head.ledger
    for (const sessionId of sessionIds) {
      const events = eventsFor(workflow, labels, sessionId)
      if (events.length === 0) continue
      const member = await loadMember(locked, sessionId)
      const isGiver = sessionId === body.session_id
      const head = await recordOnSession(member, events, isGiver ? { leaseUntil: 'renewed' } : {})
      if (isGiver) ledger = head
    }
    const at = workflow.now.toISOString()
    const reported = [...labels].map(([one, brought]): WorkflowEvent => {
      const causeOfOne: Cause = one === handoff ? cause : 'chain'
      return {
        type: 'handoff_reclaimed',
        at,
        body: { handoff_id: one.handoffId, cause: causeOfOne, labels: [...brought] },
      }
    })
    await recordOnWorkflow(tx, workflow, reported)
    const reclaimed: Handoff = {
      ...handoff,
      state: 'reclaimed',
      labels: shownLabels(handoff, labels.get(handoff) ?? []),
      settledAt: workflow.now,
    }
    return { handoff: handoffView(reclaimed, workflow.now), ledger }
  })
}

function requireGiver(handoff: Handoff, sessionId: string): void {
  if (handoff.fromSession === sessionId) return
  const detail = 'only the session that offered the handoff can reclaim it'
  throw new ApiError('HANDOFF_STATE', { state: handoff.state, detail })
}

/** Why it may be reclaimed; 409 with the time from which it may be, while its holder can still work on it. */
function requireEligible({ now }: WorkflowRow, handoff: Handoff, holder: LoadedSession | null): Cause {
  if (handoff.state === 'completed') throw new ApiError('HANDOFF_STATE', { state: 'completed' })
  if (holder === null) {
    if (handoff.expiresAt > now) throw notEligible(handoff.expiresAt)
    return 'not_accepted'
  }
  const { state, leaseUntil } = holder.session.head
  const isStopped = state.status === 'KILLED' || state.status === 'COMPROMISED'
  if (!isStopped && leaseUntil > now) throw notEligible(leaseUntil)
  return 'holder_gone'
}

const notEligible = (from: Date) => new ApiError('HANDOFF_NOT_ELIGIBLE', { eligible_at: from.toISOString() })

/** What is known of a session that is lost: its labels, and those of the calls that it has under way. */
interface Labelled {
  readonly labels: readonly string[]
  readonly underWay: readonly string[]
}

/** One after another: there may be hundreds of them, with a state of megabytes each. */
async function labelsOfMembers(
  locked: LockedWorkflow,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, Labelled>> {
  const members = new Map<string, Labelled>()
  for (const sessionId of sessionIds) {
    const { labels, open } = (await loadMember(locked, sessionId)).session.head.state
    const calls = (open?.calls ?? []).filter((call) => call.state !== 'resolved')
    members.set(sessionId, { labels, underWay: calls.flatMap((call) => call.adds_labels) })
  }
  return members
}

/**
 * The labels of a session that is lost, of the calls that it has under way, and of all to whom it handed work on. What
 * such a call will add counts at once: its outcome is reported to a session that is no longer used.
 */
function labelsLost(
  fallen: readonly Handoff[],
  members: ReadonlyMap<string, Labelled>,
): (sessionId: string | null) => readonly string[] {
  const handedOn = groupBy(fallen, ({ fromSession }) => fromSession)
  const known = new Map<string, readonly string[]>()
  const labelsOf = (sessionId: string | null): readonly string[] => {
    if (sessionId === null) return []
    const before = known.get(sessionId)
    if (before !== undefined) return before
    const own = members.get(sessionId)
    const labels = new Set([...(own?.labels ?? []), ...(own?.underWay ?? [])])
    for (const { toSession } of handedOn.get(sessionId) ?? []) {
      for (const label of labelsOf(toSession)) labels.add(label)
      // No session can take so many back.
      if (labels.size > LIMITS.labelsPerSession) throw new ApiError('LABEL_LIMIT')
    }
    known.set(sessionId, [...labels])
    return [...labels]
  }
  return labelsOf
}

/** Those that came back; of an offer that was not taken, those that would have gone down with it. */
const shownLabels = (handoff: Handoff, brought: readonly string[]): string[] =>
  handoff.toSession === null ? handoff.labels : [...brought]

function requireRoom(before: readonly string[], labels: readonly string[]): void {
  if (new Set([...before, ...labels]).size > LIMITS.labelsPerSession) throw new ApiError('LABEL_LIMIT')
}

/** What the ledger of one session says about the handoffs that fell. */
function eventsFor(
  workflow: WorkflowRow,
  fallen: ReadonlyMap<Handoff, readonly string[]>,
  sessionId: string,
): SessionEvent[] {
  const at = workflow.now.toISOString()
  return [...fallen].flatMap(([handoff, labels]) => {
    const sides = (['from', 'to'] as const).filter(
      (side) => (side === 'from' ? handoff.fromSession : handoff.toSession) === sessionId,
    )
    return sides.map((side): SessionEvent => {
      const body = { ...handoffFacts({ workflow, handoff, side }), labels: [...labels] }
      return { type: 'handoff_reclaimed', at, body }
    })
  })
}
