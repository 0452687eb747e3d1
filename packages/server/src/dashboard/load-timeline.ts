import { applyEvent, initialState, type Plan, type SessionState, snapshotOf } from '@countersign/engine'
import type { ChainedEvent, Input, LedgerBody, Reply, Routes, SessionEvent, TimelineItem } from '@countersign/protocol'
import { loadForDecision } from '../change/change-session.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { changedParts, checkContent } from '../ledgers/content-check.js'
import { requireStillStored } from '../ledgers/still-stored.js'
import { reportChanged } from '../ledgers/verify-ledger.js'
import { loadEvents, loadEventsAt, PAGE_BYTES } from '../store/sessions/ledger.js'
import type { FixedSession } from '../store/sessions/session-row.js'
import { loadReceipts, loadTurns, type StoredTurn } from '../store/sessions/stored-turns.js'
import { changedApprovals, type ReceiptEvents, timelineCalls } from './timeline-calls.js'

/** What is folded at a time before a page. */
const FOLD_BATCH = { limit: 1_000, maxBytes: 262_144 }

/** The events of a session in order, each with what was decided and done, and the state as it was right after. */
export async function loadTimeline(
  ctx: UserContext,
  { params, query }: Input<Routes['loadTimeline']>,
): Promise<Reply<Routes['loadTimeline']>> {
  const { session, plan } = await loadForDecision(ctx, params.session_id)
  const { fixed, head } = session
  const scope = { tenantId: fixed.tenantId, sessionId: fixed.sessionId, upTo: head.ledger.seq }
  const state = await stateBefore(ctx, { ...scope, upTo: Math.min(query.after, scope.upTo) }, plan)
  const read = await inRead(ctx, (sql) =>
    loadEvents(sql, { ...scope, after: query.after, limit: query.limit, maxBytes: PAGE_BYTES }),
  )
  const proposals = read.filter(isProposal).map(({ seq }) => seq)
  const { turns, cutAt } = await inRead(ctx, (sql) => loadTurns(sql, fixed, proposals, PAGE_BYTES))
  const events = cutAt === null ? read : read.filter(({ seq }) => seq < cutAt)
  const receipts = await receiptsOf(ctx, fixed, events)
  await inRead(ctx, (sql) => requireStillStored(sql, fixed))
  const items = itemsOf({ ctx, fixed, plan, state, turns, receipts }, events)
  const last = items.at(-1)?.seq ?? scope.upTo
  return { items, next: last < scope.upTo ? last : null, head: head.ledger }
}

const isProposal = ({ type }: ChainedEvent) => type === 'proposal'

/** Folds the events before the page, some at a time. Null before the first. */
async function stateBefore(
  ctx: UserContext,
  scope: { tenantId: string; sessionId: string; upTo: number },
  plan: Plan,
): Promise<SessionState | null> {
  let state: SessionState | null = null
  for (let after = 0; after < scope.upTo; ) {
    const events = await inRead(ctx, (sql) => loadEvents(sql, { ...scope, after, ...FOLD_BATCH }))
    if (events.length === 0) break
    for (const event of events) state = next(state, event, plan)
    after = events.at(-1)?.seq ?? scope.upTo
  }
  return state
}

function next(state: SessionState | null, { type, at, body }: ChainedEvent, plan: Plan): SessionState {
  const event = { type, at, body } as unknown as SessionEvent
  if (state !== null) return applyEvent(state, event, plan)
  if (event.type !== 'created') throw new Error('a ledger begins with the creation of its session')
  return initialState(plan, event)
}

/** The events with the receipts of the page's calls: the ledger's, not those of the table beside it. */
async function receiptsOf(
  ctx: UserContext,
  fixed: FixedSession,
  events: readonly ChainedEvent[],
): Promise<ReceiptEvents> {
  const pending = events.filter(isProposal).flatMap(({ body }) => {
    const { calls } = body as unknown as LedgerBody<'proposal'>
    return calls.flatMap(({ pending_call_id }) => pending_call_id ?? [])
  })
  const stored = await inRead(ctx, (sql) => loadReceipts(sql, fixed, pending))
  const seqs = new Set([...stored.values()].map(({ seq }) => seq))
  return { stored, events: await inRead(ctx, (sql) => loadEventsAt(sql, fixed, [...seqs])) }
}

interface Page {
  readonly ctx: UserContext
  readonly fixed: FixedSession
  readonly plan: Plan
  /** Before the page. */
  readonly state: SessionState | null
  readonly turns: ReadonlyMap<number, StoredTurn>
  readonly receipts: ReceiptEvents
}

/** As many as fit into a page. */
function itemsOf(page: Page, events: readonly ChainedEvent[]): TimelineItem[] {
  const items: TimelineItem[] = []
  let { state } = page
  let size = 0
  for (const event of events) {
    // What an event left is larger than the event: names of tools, labels, what was offered.
    if (size >= PAGE_BYTES) break
    state = next(state, event, page.plan)
    const item = itemOf(page, event, state)
    items.push(item)
    size += JSON.stringify(item).length
  }
  return items
}

/** What contradicts its hash in the ledger is named and not shown. */
function itemOf(page: Page, event: ChainedEvent, state: SessionState): TimelineItem {
  const { ctx, fixed, plan, turns, receipts } = page
  const turn = turns.get(event.seq)
  const body = event.body as unknown as LedgerBody<'proposal'>
  const check = turn === undefined ? null : checkContent(fixed.hashSalt, body, turn)
  const request = turn === undefined || check?.request ? null : turn.request
  const beside = { turn, check, receipts, salt: fixed.hashSalt }
  const changed = isProposal(event)
    ? [...(check === null ? ['its record'] : changedParts(body, check)), ...changedApprovals(body, beside)]
    : []
  if (changed.length > 0) reportChanged(ctx, fixed, event.seq, changed)
  const narrowing = request === null ? null : { allowed: [...request.allowed], removed: [...request.removed] }
  return {
    seq: event.seq,
    at: event.at,
    type: event.type,
    hash: event.hash,
    body: event.body,
    preflight:
      request === null || narrowing === null
        ? null
        : { at: request.preparedAt, model: body.model ?? request.model, ...narrowing },
    calls: isProposal(event) ? timelineCalls(body, beside) : [],
    ...(changed.length > 0 && { changed }),
    state: snapshotOf(state, plan, { sessionId: event.session_id, lastNarrowing: narrowing }),
    labels: [...state.labels],
  }
}
