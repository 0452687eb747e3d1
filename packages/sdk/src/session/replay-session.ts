import type { HandoffView, StateSnapshot, WorkflowView } from '@countersign/protocol'
import { deepFreeze } from '../authority/snapshot-with.js'
import { type HealthSnapshot, isClusterMember } from '../base/health-snapshot.js'
import { type BypassWatch, createBypassWatch } from '../clients/bypass.js'
import type { ClientKind } from '../clients/clients.js'
import { createConversations } from '../clients/conversations.js'
import { governClient, type ModelCall } from '../clients/govern-client.js'
import { unwrapClient } from '../clients/wrapped-clients.js'
import { checkLabel, checkToolFilter } from '../options/check-arguments.js'
import type { NarrowResult } from '../options/replay-options.js'
import type { ReplaySettings } from '../options/replay-settings.js'
import { createContinuations } from '../turn/continuations.js'
import { reportedReceipt } from '../turn/receipts.js'
import { type WrappedTool, wrapTools } from '../turn/tools.js'
import type { TraceEntry } from '../turn/trace.js'
import { createTurn, runTurn } from '../turn/turn.js'
import { createTurnQueue, TURN_TIMEOUT_MS } from '../turn/turn-queue.js'
import { binds } from '../turn/turn-session.js'
import { healthOf } from './health.js'
import { createReplayCaptures, type ReplayCaptures } from './replay-captures.js'
import { reportDifferences } from './report-differences.js'
import { createSessionCore, type SessionCore } from './session-core.js'
import { createSessionNotes, type SessionNotes } from './session-notes.js'
import type { ShadowDelta } from './shadow-delta.js'
import {
  completeHandoff,
  type HandoffOffer,
  type HandoffWait,
  loadWorkflow,
  offerHandoff,
  reclaimHandoff,
  waitForHandoff,
} from './workflow.js'

/** The tools of a session of which it is not known whether they were given. */
export type SomeTools = Readonly<Record<string, WrappedTool | undefined>> | undefined

/** A governed session: make model calls through `client` and run tools through `tools`. */
export class ReplaySession<Client extends object, Tools = SomeTools> {
  /** The governed client. Make every model call through it. */
  readonly client: Client
  /** The id of the session. */
  readonly sessionId: string
  /** The wrapped tools; undefined if the option `tools` was not given. */
  readonly tools: Tools
  readonly #original: Client
  readonly #core: SessionCore
  readonly #notes: SessionNotes
  readonly #captures: ReplayCaptures
  readonly #bypass: BypassWatch
  #bypassed = false

  constructor(client: Client, kind: ClientKind, settings: ReplaySettings) {
    const core = createSessionCore(settings, kind.name)
    this.#original = client
    this.#core = core
    this.sessionId = settings.sessionId
    this.#captures = createReplayCaptures(settings, core.report)
    this.#notes = createSessionNotes(core, this.#captures)
    this.tools = toolsOf(core) as Tools
    this.#bypass = createBypassWatch(kind, (method) => this.#onBypass(method))
    const governor = { ...governorOf(core, this.#notes, this.#captures), send: this.#bypass.unseen }
    this.client = governClient(client, kind, governor)
    this.#bypass.watch(client)
  }

  /** Sends the captures, receipts and controls that are still waiting, if the server can be reached. */
  async flush(): Promise<void> {
    await this.#core.deliver()
    await Promise.all([this.#captures.flush(), this.#core.authority().flush()])
  }

  /** Ends the session and releases the client. Later calls through `session.client` are refused. */
  async restore(): Promise<void> {
    if (this.#core.isRestored()) return
    this.#core.end()
    this.#bypass.stop()
    unwrapClient(this.#original)
    const { openCalls, settings } = this.#core
    await openCalls.whenIdle()
    for (const call of openCalls.allowed()) {
      openCalls.resolve(call, reportedReceipt(call, settings.tools?.has(call.toolName) ? 'not_executed' : 'unknown'))
    }
    await this.#core.deliver()
    await Promise.all([this.#captures.close(), this.#core.authority().close()])
  }

  /** Stops the session immediately and permanently. The server is told, repeatedly until it confirms. */
  kill(): void {
    this.#core.kill()
  }

  /** Adds a label, which can never be removed. It applies immediately, and on the server before the next turn. */
  addLabel(label: string): void {
    checkLabel(label)
    this.#core.authority().addLabel(label)
  }

  /** Allows only these tools, until `widen()` is called. */
  narrow(toolFilter: readonly string[]): void {
    checkToolFilter(toolFilter)
    this.#core.setFilter([...toolFilter])
  }

  /** Removes the restriction that `narrow` set. */
  widen(): void {
    this.#core.setFilter(null)
  }

  /** The state of the session, as a frozen copy. */
  getState(): StateSnapshot {
    return this.#core.snapshot(this.#notes.narrowingSnapshot())
  }

  /** The health of the session, as a frozen copy. */
  getHealth(): HealthSnapshot {
    const core = this.#core
    const { mode, compat, governed, refusal, attachment } = core.rules()
    const { totalStepCount, totalBlockCount } = this.getState()
    return healthOf({
      mode,
      compatEnforcement: compat,
      governed,
      refusing: refusal !== null,
      restored: core.isRestored(),
      bypassed: this.#bypassed,
      attachment,
      authority: core.authority().facts(),
      clusterDetected: isClusterMember(core.settings.appInstance),
      totalSteps: totalStepCount,
      totalBlocks: mode === 'enforce' ? totalBlockCount : 0,
      otherErrors: this.#notes.errors() + this.#captures.failures(),
      shadowEvaluations: this.#notes.shadowEvaluations(),
    })
  }

  /** Which tools the latest request was narrowed to; null before the first request. */
  getLastNarrowing(): NarrowResult | null {
    return this.#notes.lastNarrowing()
  }

  /** What enforcement would have changed in the latest turn; null unless the session is in shadow mode. */
  getLastShadowDelta(): ShadowDelta | null {
    return this.#notes.lastShadowDelta()
  }

  /** The checks of the latest turn, in order. They never contain values of arguments. */
  getLastTrace(): readonly TraceEntry[] {
    return this.#notes.lastTrace()
  }

  /** Loads the workflow of the session from the server. */
  async getWorkflowState(): Promise<WorkflowView> {
    return deepFreeze(await loadWorkflow(this.#core))
  }

  /** Offers work to another role of the workflow. */
  async handoff(offer: HandoffOffer): Promise<HandoffView> {
    return deepFreeze(await offerHandoff(this.#core, offer))
  }

  /** Completes the handoff that this session accepted. Its labels go back with it; it may use no more tools. */
  async completeHandoff(): Promise<HandoffView> {
    return deepFreeze(await completeHandoff(this.#core))
  }

  /** Takes back a handoff that this session offered, after it expired or its holder was lost. */
  async reclaimHandoff(handoffId: string): Promise<HandoffView> {
    return deepFreeze(await reclaimHandoff(this.#core, handoffId))
  }

  /** Waits until a handoff is completed, reclaimed or expired; null if that does not happen in time. */
  async waitForHandoff(handoffId: string, wait: HandoffWait): Promise<HandoffView | null> {
    return deepFreeze(await waitForHandoff(this.#core, handoffId, wait))
  }

  #onBypass(method: string): void {
    if (this.#core.isRestored()) return
    this.#bypassed = true
    this.#core.report({ type: 'replay_bypass_detected', session_id: this.sessionId, method })
    this.#core.authority().reportBypass(method)
  }
}

function toolsOf(core: SessionCore): SomeTools {
  const { settings, openCalls, running, killSignal } = core
  if (settings.tools === null) return undefined
  return wrapTools(settings.tools, {
    openCalls,
    running,
    killSignal,
    captureLevel: settings.captureLevel,
    authority: core.authority,
    enforcing: (by) => core.stance(by) === 'enforce',
    decider: () => (core.rules().governed && !core.authority().facts().degradedLocal ? 'server' : 'local'),
    killed: core.isKilled,
    onArgumentsDiffer: reportDifferences(core),
    deliver: core.deliver,
    deliverSoon: core.deliverSoon,
  })
}

function reportLongWait({ report, settings }: SessionCore): void {
  const detail =
    'a call is waiting for the previous one, which has not ended: if that is a stream, read it to the end, or close it ' +
    'with break or abort(); ' +
    `after ${TURN_TIMEOUT_MS / 1_000} s the call goes ahead`
  report({ type: 'replay_turn_waiting', session_id: settings.sessionId, detail })
}

function governorOf(core: SessionCore, notes: SessionNotes, captures: ReplayCaptures) {
  const { settings, openCalls, running, report } = core
  const queue = createTurnQueue({ onLongWait: () => reportLongWait(core) })
  core.onEnd(queue.release)
  const session = {
    settings,
    openCalls,
    running,
    notes,
    queue,
    conversations: createConversations(settings.apiKey),
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
  return {
    runTurn: (call: ModelCall) => runTurn(createTurn(session, call.provider), call),
    binds: () => binds(session),
    // A call that is refused rejects, like any other call of the client that fails.
    assertUsable: () => {},
  }
}
