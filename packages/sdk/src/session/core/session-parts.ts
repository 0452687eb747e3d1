import { createConversations } from '../../clients/conversations.js'
import type { ModelCall } from '../../clients/govern-client.js'
import type { ReplaySettings } from '../../options/replay-settings.js'
import { createContinuations } from '../../turn/continuations.js'
import { runTurn } from '../../turn/run-turn.js'
import type { ToolRuntime } from '../../turn/tools.js'
import { createTurn } from '../../turn/turn.js'
import { createTurnQueue, TURN_TIMEOUT_MS } from '../../turn/turn-queue.js'
import { binds, type TurnSession } from '../../turn/turn-session.js'
import { createVerdicts, type Verdicts } from '../../turn/verdicts.js'
import { createReplayCaptures, type ReplayCaptures } from './replay-captures.js'
import { reportDifferences } from './report-differences.js'
import { createSessionCore, type SessionCore } from './session-core.js'
import { createSessionNotes, type SessionNotes } from './session-notes.js'

/** Everything a session consists of behind its face. */
export interface SessionParts {
  readonly core: SessionCore
  readonly notes: SessionNotes
  readonly captures: ReplayCaptures
  readonly verdicts: Verdicts
  /** For the turns of the session. */
  readonly turns: TurnSession
  /** For the tools of the session. */
  readonly runtime: ToolRuntime
  /** The original client was called directly. */
  onBypass(method: string): void
  isBypassed(): boolean
}

export function createSessionParts(settings: ReplaySettings, providerName: string | null): SessionParts {
  const core = createSessionCore(settings, providerName)
  const captures = createReplayCaptures(settings, core.report)
  const notes = createSessionNotes(core, captures)
  const verdicts = createVerdicts()
  let isBypassed = false
  return {
    core,
    notes,
    captures,
    verdicts,
    turns: turnsOf(core, notes, captures, verdicts),
    runtime: runtimeOf(core, notes, verdicts),
    onBypass(method) {
      if (core.isRestored()) return
      isBypassed = true
      core.report({ type: 'replay_bypass_detected', session_id: settings.sessionId, method })
      core.authority().reportBypass(method)
    },
    isBypassed: () => isBypassed,
  }
}

function runtimeOf(core: SessionCore, notes: SessionNotes, verdicts: Verdicts): ToolRuntime {
  const { settings, openCalls, killSignal } = core
  return {
    openCalls,
    killSignal,
    verdicts,
    answersBlocked: settings.gate === 'answer',
    captureLevel: settings.captureLevel,
    authority: core.authority,
    enforcing: (by) => core.stance(by) === 'enforce',
    decider: () => (core.rules().governed && !core.authority().facts().degradedLocal ? 'server' : 'local'),
    killed: core.isKilled,
    onBlocked: notes.blocked,
    onArgumentsDiffer: reportDifferences(core),
    deliver: core.deliver,
    deliverSoon: core.deliverSoon,
  }
}

function turnsOf(core: SessionCore, notes: SessionNotes, captures: ReplayCaptures, verdicts: Verdicts): TurnSession {
  const { settings, openCalls, report } = core
  const queue = createTurnQueue({ onLongWait: () => reportLongWait(core) })
  core.onEnd(queue.release)
  return {
    settings,
    openCalls,
    notes,
    queue,
    // Of other gates a program gets only calls that may run.
    conversations:
      settings.gate === 'answer'
        ? createConversations(settings.apiKey, (callId) => verdicts.of(callId)?.verdict ?? null)
        : createConversations(settings.apiKey),
    continuations: createContinuations(),
    followsConversations: () => captures.isActive() || core.rules().governed || core.rules().loaded.readsSources,
    approver: { sessionId: settings.sessionId, onCheckpoint: settings.onCheckpoint, report, now: () => new Date() },
    authority: core.authority,
    stance: core.stance,
    isReady: core.isReady,
    ready: core.ready,
    assertUsable: core.assertUsable,
    checkProvider: core.checkProvider,
    deliver: core.deliver,
  }
}

function reportLongWait({ report, settings }: SessionCore): void {
  const detail =
    'a call is waiting for the previous one, which has not ended: if that is a stream, read it to the end, or close it ' +
    'with break or abort(); ' +
    `after ${TURN_TIMEOUT_MS / 1_000} s the call goes ahead`
  report({ type: 'replay_turn_waiting', session_id: settings.sessionId, detail })
}

/** Governs the calls of a client. */
export function governorOf({ turns, verdicts }: SessionParts) {
  const { gate, maxRetries } = turns.settings
  const onDecided =
    gate === 'answer'
      ? (answer: Parameters<Verdicts['take']>[0]): void => void verdicts.take(answer, turns.approver)
      : undefined
  const options = { retries: maxRetries, onDecided }
  return {
    runTurn: (call: ModelCall) => runTurn(createTurn(turns, call.provider, options), call),
    binds: () => binds(turns),
    // A call that is refused rejects, like any other call of the client that fails.
    assertUsable: () => {},
  }
}
