import type { PendingCallView } from '@countersign/protocol'
import type { LocalSession } from '../local/local-session.js'
import type { StopReason } from '../refusals.js'

/** What this client and the server know of each other. */
export type Live =
  /** Not open. After `unanswered` it may exist on the server all the same; a `refused` one is not ours. */
  | { readonly is: 'new'; readonly create: 'untried' | 'unanswered' | 'refused' }
  /** The mirror is exact. */
  | { readonly is: 'open' }
  /** The server may know more: its state, and where calls are `unseen`, also what it allowed. */
  | { readonly is: 'behind'; readonly unseen: boolean }
  /** An earlier holder left these calls behind, and their outcome is not known. */
  | { readonly is: 'in_doubt'; readonly calls: readonly PendingCallView[]; readonly unseen: boolean }

/** The server did not answer. The fork decides meanwhile; null while nothing had to be decided here. */
export interface Away {
  readonly is: 'away'
  readonly from: Live
  readonly fork: LocalSession | null
}

/** The session takes no more calls. Only a kill is final. */
export interface Stopped {
  readonly is: 'stopped'
  readonly why: StopReason
  readonly from: Live | Away
}

export type Mode = Live | Away | Stopped

/** What is learned of the session on the server. */
export type LiveEvent =
  | { readonly event: 'create_unanswered' | 'create_refused' | 'opened' | 'caught_up' | 'doubt_resolved' }
  /** The mirror is not the server's session, which may even have allowed calls that are unknown here. */
  | { readonly event: 'opened_with_history' | 'diverged'; readonly unseen: boolean }
  | { readonly event: 'doubted'; readonly calls: readonly PendingCallView[]; readonly unseen: boolean }

export type ModeEvent =
  | LiveEvent
  /** The server did not answer; or it has, and decides again. */
  | { readonly event: 'failed' | 'answered' }
  | { readonly event: 'decided_here'; readonly fork: LocalSession }
  | { readonly event: 'stopped'; readonly why: StopReason }

/** The ways from one mode to the next. What is not listed cannot happen. */
export const MOVES: Readonly<Record<Live['is'], Readonly<Partial<Record<LiveEvent['event'], Live['is']>>>>> = {
  new: {
    create_unanswered: 'new',
    create_refused: 'new',
    opened: 'open',
    opened_with_history: 'behind',
    doubted: 'in_doubt',
  },
  open: { diverged: 'behind', caught_up: 'open', doubted: 'in_doubt' },
  behind: { diverged: 'behind', caught_up: 'open', doubted: 'in_doubt' },
  in_doubt: { diverged: 'in_doubt', caught_up: 'in_doubt', doubted: 'in_doubt', doubt_resolved: 'behind' },
}

/**
 * The mode after an event; throws where the table has no such move. While the server is away, and after a stop, what is
 * learned of the session changes the mode that they came from.
 */
export function nextMode(mode: Mode, event: ModeEvent): Mode {
  if (mode.is === 'stopped') {
    if (event.event !== 'stopped') return { ...mode, from: nextMode(mode.from, event) as Live | Away }
    return mode.why === 'killed' ? mode : { ...mode, why: event.why }
  }
  switch (event.event) {
    case 'stopped':
      return { is: 'stopped', why: event.why, from: mode }
    case 'failed':
      return mode.is === 'away' ? mode : { is: 'away', from: mode, fork: null }
    case 'answered':
      return mode.is === 'away' ? mode.from : mode
    case 'decided_here':
      if (mode.is === 'away') return { ...mode, fork: event.fork }
      throw new ImpossibleMove(mode.is, event.event)
    default:
      return mode.is === 'away' ? { ...mode, from: nextLive(mode.from, event) } : nextLive(mode, event)
  }
}

function nextLive(live: Live, event: LiveEvent): Live {
  const is = MOVES[live.is][event.event]
  if (is === undefined) throw new ImpossibleMove(live.is, event.event)
  const unseen = ('unseen' in live && live.unseen) || ('unseen' in event && event.unseen)
  switch (is) {
    case 'new':
      return { is, create: event.event === 'create_refused' ? 'refused' : 'unanswered' }
    case 'open':
      return { is }
    case 'behind':
      return { is, unseen }
    case 'in_doubt':
      return { is, unseen, calls: event.event === 'doubted' ? event.calls : live.is === is ? live.calls : [] }
  }
}

/** What is known of the session, whether or not the server answers and the session goes on. */
export function liveIn(mode: Mode): Live {
  return mode.is === 'away' || mode.is === 'stopped' ? liveIn(mode.from) : mode
}

/** Null where the server answers. */
export function awayIn(mode: Mode): Away | null {
  if (mode.is === 'stopped') return awayIn(mode.from)
  return mode.is === 'away' ? mode : null
}

export class ImpossibleMove extends Error {
  override readonly name = 'ImpossibleMove'

  constructor(mode: Mode['is'], event: ModeEvent['event']) {
    super(`internal error: ${event} is no move from ${mode}`)
  }
}
