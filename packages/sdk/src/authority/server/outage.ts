import { messageOf, type Report } from '../../base/diagnostics.js'
import { ReplayKillError, ReplayUnavailableError } from '../../base/errors.js'
import { errorOf, type StopReason, stopReasonIn } from '../refusals.js'
import { ServiceFailure, ServiceRefusal } from '../transport.js'
import type { ClientStateHolder } from './client-state.js'

/** What becomes of a call while the server cannot be reached: `onError` and its limit. */
export interface Outage {
  /** The server did not answer. Reported once, until it has answered again. */
  failed(error: unknown): void
  /** The server has answered and decides again. */
  ended(): void
  /** Returns when the call may be decided here, and counts it; otherwise throws what the program sees. */
  assertMayDecideHere(error: unknown): void
  counts(): { readonly errors: number; readonly unguarded: number }
}

export interface OutageOptions {
  readonly sessionId: string
  readonly client: ClientStateHolder
  readonly onError: 'block' | 'allow'
  readonly maxUnguardedCalls: number
  readonly report: Report
  readonly onRefusal: (found: StopReason | null) => void
  readonly onTooMany: () => void
}

export function createOutage(options: OutageOptions): Outage {
  const { sessionId, client, onError, maxUnguardedCalls, report } = options
  let errors = 0
  let unguarded = 0
  /** Of those, how many were reported when the server was back. */
  let reported = 0

  function failed(error: unknown): void {
    errors++
    const isNew = client.now().server === 'reachable'
    client.move('server_failed')
    const detail = `${messageOf(error)}; ${consequence(options)}`
    if (isNew) report({ type: 'replay_degraded', session_id: sessionId, detail })
  }

  return {
    failed,
    ended() {
      const wasAway = client.now().server !== 'reachable'
      client.move('server_decided')
      if (!wasAway) return
      const detail = `the server responds again and decides from now on${notRecorded(unguarded - reported)}`
      reported = unguarded
      report({ type: 'replay_recovered', session_id: sessionId, detail })
    },
    assertMayDecideHere(error) {
      if (error instanceof ServiceRefusal) {
        options.onRefusal(stopReasonIn(error))
        throw errorOf(error)
      }
      if (!(error instanceof ServiceFailure)) throw error
      failed(error)
      if (onError === 'block' || client.now().replica === 'behind') throw unavailable(onError, error)
      unguarded++
      if (unguarded <= maxUnguardedCalls) return
      options.onTooMany()
      const why = `more than ${maxUnguardedCalls} calls (maxUnguardedCalls) without the server`
      throw new ReplayKillError(`the session was killed: ${why}`, { cause: error })
    },
    counts: () => ({ errors, unguarded }),
  }
}

/** What was allowed meanwhile stays unknown there: it was not asked. */
function notRecorded(turns: number): string {
  if (turns === 0) return ''
  const what = turns === 1 ? '1 turn that was' : `${turns} turns that were`
  return `; its record lacks ${what} decided without it: its counts and sums do not include what these allowed`
}

function consequence({ onError, maxUnguardedCalls, client }: OutageOptions): string {
  if (onError === 'block') return 'until it answers, calls are blocked'
  const state =
    client.now().session === 'open'
      ? 'from the last known state of the session'
      : 'from the state of a new session with unused budgets, since the server has not reported the state of this one'
  return `until it answers, at most ${maxUnguardedCalls} calls are decided locally (onError: allow), ${state}`
}

function unavailable(onError: 'block' | 'allow', cause: ServiceFailure): ReplayUnavailableError {
  const why = onError === 'block' ? '' : ' and the state of the session is not known here'
  const message = `the call is blocked because the server cannot be reached${why}: ${cause.message}`
  return new ReplayUnavailableError(message, { cause })
}
