import { applyEvent, chainEvent, type Plan, type SessionState } from '@countersign/engine'
import { LIMITS, type SessionEvent } from '@countersign/protocol'
import type { NewEvent } from '../store/sessions/ledger.js'
import { decisionCounts } from '../store/sessions/session-facets.js'
import type { PreparedRequest, SessionHead, SessionRow } from '../store/sessions/session-row.js'

export interface Advance {
  /** Default: stays as it is. */
  readonly leaseUntil?: Date | 'renewed'
  /** The newest unused request. Default: stays as it is. */
  readonly prepared?: PreparedRequest | null
  /** The change stores an unused request apart. */
  readonly supersedes?: boolean
  /** The state after the first event, where that is known. */
  readonly first?: SessionState
}

/** The session's head after these events, and the events chained to its ledger. */
export function advance(
  { session, plan }: { readonly session: SessionRow; readonly plan: Plan },
  events: readonly SessionEvent[],
  { leaseUntil, prepared, supersedes = false, first }: Advance = {},
): { head: SessionHead; events: NewEvent[] } {
  const { fixed, head: before, now } = session
  let { state, ledger } = before
  const chained: NewEvent[] = []
  for (const event of events) {
    const { seq, type, at, body, prev_hash, hash } = chainEvent(ledger, fixed.sessionId, event)
    state = first !== undefined && chained.length === 0 ? first : applyEvent(state, event, plan)
    ledger = { seq, hash }
    chained.push({ seq, type, at, body, prev_hash, hash })
  }
  const { allowed, blocked, lastReason } = decisionCounts(chained)
  const head: SessionHead = {
    revision: ledger.hash,
    leaseUntil: leaseUntil === 'renewed' ? leaseFrom(now, state, plan) : (leaseUntil ?? before.leaseUntil),
    state,
    lastNarrowing: before.lastNarrowing,
    prepared: prepared === undefined ? before.prepared : prepared,
    hasSuperseded: before.hasSuperseded || supersedes,
    ledger,
    lastEvent: chained.at(-1)?.type ?? before.lastEvent,
    allowedCalls: before.allowedCalls + allowed,
    blockedCalls: before.blockedCalls + blocked,
    lastReason: lastReason ?? before.lastReason,
  }
  return { head, events: chained }
}

/** Two minutes from now, and as much longer as the calls under way may take. */
export function leaseFrom(now: Date, state: SessionState, plan: Plan): Date {
  const running = (state.open?.calls ?? []).filter((call) => call.state !== 'resolved').map((call) => call.tool_name)
  const callsMs = running.length === 0 ? 0 : plan.longestTimeoutMs(running)
  return new Date(now.getTime() + LIMITS.leaseSeconds * 1_000 + callsMs)
}
