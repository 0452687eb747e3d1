import { applyEvent, chainEvent, type Plan, type SessionState } from '@countersign/engine'
import { LIMITS, type SessionEvent } from '@countersign/protocol'
import type { NewEvent } from '../store/sessions/ledger.js'
import { decisionCounts } from '../store/sessions/session-facets.js'
import type { PreparedRequest, SessionHead, SessionRow } from '../store/sessions/session-row.js'

export interface Advance {
  /** `as_long`: from now as long as it was given last, for who does not know the plan. Default: stays as it is. */
  readonly leaseUntil?: Date | 'renewed' | 'as_long'
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
  const leaseMs = leaseUntil === 'renewed' ? leaseMsOf(state, plan) : before.leaseMs
  const isGiven = leaseUntil === 'renewed' || leaseUntil === 'as_long'
  const head: SessionHead = {
    revision: ledger.hash,
    leaseUntil: isGiven ? new Date(now.getTime() + leaseMs) : (leaseUntil ?? before.leaseUntil),
    leaseMs,
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

/** Two minutes, and as much longer as the calls under way may take. */
export function leaseMsOf(state: SessionState, plan: Plan): number {
  const running = (state.open?.calls ?? []).filter((call) => call.state !== 'resolved').map((call) => call.tool_name)
  return LIMITS.leaseSeconds * 1_000 + (running.length === 0 ? 0 : plan.longestTimeoutMs(running))
}
