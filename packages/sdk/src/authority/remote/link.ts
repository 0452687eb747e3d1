import { messageOf, type Report } from '../../base/diagnostics.js'
import { ReplayKillError, ReplayUnavailableError } from '../../base/errors.js'
import { singleFlight } from '../../base/single-flight.js'
import type { KillCause } from '../authority.js'
import { createLocalSession, type LocalSession, type LocalSessionOptions } from '../local/local-session.js'
import { errorOf, type StopReason, stopError, stopReasonIn, stopReasonOf } from '../refusals.js'
import { type CallLimits, ServiceFailure, ServiceRefusal, ServiceThrottled } from '../transport.js'
import type { Controls } from './controls.js'
import { awayIn, type Live, liveIn, type Mode, type ModeEvent, nextMode } from './mode.js'
import type { Exchange, Opened, SessionApi } from './session-api.js'

/** A session on the server as this process has it: its mode, its mirror, and the only sender of its requests. */
export interface Link {
  mode(): Mode
  /** What is known of the session, whether or not the server answers. */
  live(): Live
  move(event: ModeEvent): void
  exchange: Exchange
  /** Opens the session once; an attempt that failed is made again by the next turn. */
  open(): Promise<void>
  /** Resolves to true once the session exists on the server, to false when it could not be opened. */
  whenOpened(): Promise<boolean>
  mirror(): LocalSession
  /** What decides here while the server is away; null where it need not. */
  fork(): LocalSession | null
  newFork(): LocalSession
  /** A change that takes effect here at once, under either authority. */
  change(apply: (session: LocalSession) => void): void
  /** Repeats on the mirror what the server did. */
  follow(repeat: (mirror: LocalSession) => void): void
  /** Throws when the session takes no more calls. */
  assertRunning(): void
  /** The session takes no more calls, where a reason was found. The first kill ends it for good. */
  noteStop(found: StopReason | null): void
  kill(cause: KillCause): void
  /** Compromises the session, unless it was stopped before. */
  bypass(method: string): void
  /** The server has prepared or blocked a request: it decides again. */
  answered(): void
  /** Who decides here instead of a server that gave no answer. Throws where that is not allowed, or known too little. */
  decidesHere(error: unknown): LocalSession
  counts(): { readonly errors: number; readonly unguarded: number }
}

export interface LinkOptions {
  readonly api: SessionApi
  readonly local: LocalSessionOptions
  readonly onError: 'block' | 'allow'
  readonly maxUnguardedCalls: number
  readonly report: Report
  readonly onKilled: (cause: KillCause) => void
  /** What is decided here for want of the server is only reported. */
  readonly advises: boolean
  /** Several processes hold the session: what waits on the server may be another's. */
  readonly isShared: boolean
}

/** While the server is away, one short attempt shows whether it is back. */
const PROBE: CallLimits = { attempts: 1, timeoutMs: 2_000 }

export function createLink(options: LinkOptions, controls: Controls): Link {
  const { api, local, onError, maxUnguardedCalls, report, isShared } = options
  const { sessionId: session_id } = local.identity
  let mode: Mode = { is: 'new', create: 'untried' }
  let mirror = createLocalSession(local)
  const opening = singleFlight(openSession)
  let errors = 0
  let unguarded = 0
  /** Of those, how many were reported when the server was back. */
  let reported = 0

  const live = (): Live => liveIn(mode)
  const fork = (): LocalSession | null => awayIn(mode)?.fork ?? null
  const newFork = (): LocalSession => mirror.fork({ watches: local.watches || options.advises })

  /** After an impossible move the mode is not known, so the session takes no more calls. */
  function move(event: ModeEvent): void {
    try {
      mode = nextMode(mode, event)
    } catch (error) {
      mode = nextMode(mode, { event: 'stopped', why: 'compromised' })
      const detail = `${messageOf(error)}; the session takes no more calls`
      report({ type: 'replay_degraded', session_id, detail })
    }
  }

  /** Every request of a turn, with what its answer says about the mode. A stop is sent past it. */
  const exchange: Exchange = async (send, take) => {
    try {
      const reply = await send(api, fork() === null ? undefined : PROBE)
      take?.(reply)
      noteStop(stopReasonOf(api.known().status))
      return reply
    } catch (error) {
      if (error instanceof ServiceRefusal) noteStop(stopReasonIn(error))
      else if (error instanceof ServiceFailure) failed(error)
      throw error
    }
  }

  /** Reported once, until the server has answered again. */
  function failed(error: ServiceFailure): void {
    errors++
    const isNew = mode.is !== 'away' && mode.is !== 'stopped'
    if (mode.is !== 'stopped') move({ event: 'failed' })
    const detail = `${messageOf(error)}; ${consequence(options, live())}`
    if (isNew) report({ type: 'replay_degraded', session_id, detail })
  }

  function answered(): void {
    if (awayIn(mode) === null) return
    move({ event: 'answered' })
    const detail = `the server responds again and decides from now on${notRecorded(unguarded - reported)}`
    reported = unguarded
    report({ type: 'replay_recovered', session_id, detail })
  }

  function noteStop(found: StopReason | null, cause: KillCause = 'server'): void {
    if (found === null || (mode.is === 'stopped' && (mode.why === found || mode.why === 'killed'))) return
    move({ event: 'stopped', why: found })
    if (found !== 'killed') return
    change((session) => session.kill('client'))
    options.onKilled(cause)
  }

  function assertRunning(): void {
    if (mode.is === 'stopped') throw stopError(mode.why)
  }

  function change(apply: (session: LocalSession) => void): void {
    apply(mirror)
    const forked = fork()
    if (forked !== null) apply(forked)
  }

  function follow(repeat: (mirror: LocalSession) => void): void {
    try {
      repeat(mirror)
      if (mirror.state().stateVersion === api.known().stateVersion) return
    } catch {
      // The server knows something about the session that the mirror does not.
    }
    move({ event: 'diverged', unseen: false })
  }

  async function openSession(): Promise<void> {
    try {
      await exchange((server, limits) => server.open(limits), begin)
    } catch (error) {
      // An attempt before the one that was throttled may have been lost on its way back.
      const isAnswered = error instanceof ServiceRefusal && !(error instanceof ServiceThrottled)
      move({ event: isAnswered ? 'create_refused' : 'create_unanswered' })
      throw error
    }
  }

  function begin({ salt, startedAt, fresh, inDoubt: calls, principal }: Opened): void {
    const identity = { ...local.identity, salt, ...(principal !== undefined && { principal }) }
    mirror = createLocalSession({ ...local, identity })
    mirror.restore({ ...mirror.state(), startedAt })
    controls.replayOn(mirror)
    if (calls.length > 0) move({ event: 'doubted', calls, unseen: isShared })
    else move(fresh ? { event: 'opened' } : { event: 'opened_with_history', unseen: isShared })
  }

  async function open(): Promise<void> {
    if (live().is === 'new') await opening.run()
  }

  async function whenOpened(): Promise<boolean> {
    await opening.underWay()?.catch(() => {})
    return live().is !== 'new'
  }

  function decidesHere(error: unknown): LocalSession {
    if (error instanceof ServiceRefusal) throw errorOf(error)
    if (!(error instanceof ServiceFailure)) throw error
    assertRunning()
    // Nothing here can prove a principal.
    const mayBegin = live().is === 'new' && !local.plan.needsProof
    const isKnown = fork() !== null || mayBegin || live().is === 'open'
    if (onError === 'block' || !isKnown) throw unavailable(onError, error)
    unguarded++
    if (unguarded > maxUnguardedCalls) {
      kill('unguarded')
      const why = `more than ${maxUnguardedCalls} calls (maxUnguardedCalls) without the server`
      throw new ReplayKillError(`the session was killed: ${why}`, { cause: error })
    }
    const decides = fork() ?? newFork()
    move({ event: 'decided_here', fork: decides })
    return decides
  }

  /** Says whether the session is this client's to stop. What it is sent says nothing about who decides. */
  async function sendStop(send: () => Promise<void>): Promise<boolean> {
    await whenOpened()
    const now = live()
    const create = now.is === 'new' ? now.create : null
    if (create === null || create === 'unanswered') await send()
    return create !== 'refused'
  }

  function kill(cause: KillCause): void {
    noteStop('killed', cause)
    controls.insist('the kill', () => sendStop(api.kill))
  }

  return {
    mode: () => mode,
    live,
    move,
    exchange,
    open,
    whenOpened,
    mirror: () => mirror,
    fork,
    newFork,
    change,
    follow,
    assertRunning,
    noteStop,
    kill,
    bypass(method) {
      if (mode.is === 'stopped') return
      move({ event: 'stopped', why: 'compromised' })
      change((session) => session.bypass(method))
      controls.insist('the bypass report', () => sendStop(() => api.reportBypass(method)))
    },
    answered,
    decidesHere,
    counts: () => ({ errors, unguarded }),
  }
}

/** What was allowed meanwhile stays unknown there: it was not asked. */
function notRecorded(turns: number): string {
  if (turns === 0) return ''
  const what = turns === 1 ? '1 turn that was' : `${turns} turns that were`
  return `; its record lacks ${what} decided without it: its counts and sums do not include what these allowed`
}

function consequence({ onError, maxUnguardedCalls }: LinkOptions, live: Live): string {
  if (onError === 'block') return 'until it answers, calls are blocked'
  const state =
    live.is === 'new'
      ? 'from the state of a new session with unused budgets, since the server has not reported the state of this one'
      : 'from the last known state of the session'
  return `until it answers, at most ${maxUnguardedCalls} calls are decided locally (onError: allow), ${state}`
}

function unavailable(onError: 'block' | 'allow', cause: ServiceFailure): ReplayUnavailableError {
  const why = onError === 'block' ? '' : ' and the state of the session is not known here'
  const message = `the call is blocked because the server cannot be reached${why}: ${cause.message}`
  return new ReplayUnavailableError(message, { cause })
}
