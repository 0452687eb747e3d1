import { applyEvent, initialState, type Plan, type SessionState, snapshotOf } from '@countersign/engine'
import type { ChainedEvent, Input, Reply, Routes, SessionEvent, TimelineItem } from '@countersign/protocol'
import { loadForDecision } from '../change/change-session.js'
import type { UserContext } from '../context/context.js'
import { loadTurns, type Turn } from '../store/dashboard/timeline.js'
import { loadEvents } from '../store/sessions/ledger.js'
import { timelineCalls } from './timeline-calls.js'

const FOLD_BATCH = 1_000

/** The events of a session in order, each with what was decided and done, and the state as it was right after. */
export async function loadTimeline(
  ctx: UserContext,
  { params, query }: Input<Routes['loadTimeline']>,
): Promise<Reply<Routes['loadTimeline']>> {
  const { session, plan } = await loadForDecision(ctx, params.session_id)
  const scope = { tenantId: ctx.tenant.tenantId, sessionId: session.fixed.sessionId, upTo: session.head.ledger.seq }
  let state = await stateBefore(ctx, { ...scope, upTo: Math.min(query.after, scope.upTo) }, plan)
  const events = await loadEvents(ctx.app.database.sql, { ...scope, after: query.after, limit: query.limit })
  const turns = await loadTurns(ctx.app.database.sql, scope, proposalIds(events))
  const items: TimelineItem[] = []
  for (const event of events) {
    state = next(state, event, plan)
    items.push(itemOf(event, state, plan, turns.get(String(event.body.proposal_id))))
  }
  const last = events.at(-1)?.seq ?? scope.upTo
  return { items, next: last < scope.upTo ? last : null, head: session.head.ledger }
}

/** Folds the events before the page, some at a time. Null before the first. */
async function stateBefore(
  ctx: UserContext,
  scope: { tenantId: string; sessionId: string; upTo: number },
  plan: Plan,
): Promise<SessionState | null> {
  let state: SessionState | null = null
  for (let after = 0; after < scope.upTo; after += FOLD_BATCH) {
    for (const event of await loadEvents(ctx.app.database.sql, { ...scope, after, limit: FOLD_BATCH }))
      state = next(state, event, plan)
  }
  return state
}

function next(state: SessionState | null, { type, at, body }: ChainedEvent, plan: Plan): SessionState {
  const event = { type, at, body } as unknown as SessionEvent
  if (state !== null) return applyEvent(state, event, plan)
  if (event.type !== 'created') throw new Error('a ledger begins with the creation of its session')
  return initialState(plan, event)
}

const proposalIds = (events: readonly ChainedEvent[]): string[] =>
  events.flatMap(({ type, body }) => (type === 'proposal' ? [String(body.proposal_id)] : []))

function itemOf(event: ChainedEvent, state: SessionState, plan: Plan, turn: Turn | undefined): TimelineItem {
  return {
    seq: event.seq,
    at: event.at,
    type: event.type,
    hash: event.hash,
    body: event.body,
    preflight:
      turn === undefined
        ? null
        : { at: turn.preparedAt.toISOString(), model: turn.model, allowed: turn.allowed, removed: turn.removed },
    calls: turn === undefined ? [] : timelineCalls(event, turn),
    state: snapshotOf(state, plan, {
      sessionId: event.session_id,
      lastNarrowing: turn === undefined ? null : { allowed: turn.allowed, removed: turn.removed },
    }),
    labels: [...state.labels],
  }
}
