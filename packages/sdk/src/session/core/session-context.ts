import { randomBytes, randomUUID } from 'node:crypto'
import type { SessionState } from '@countersign/engine'
import { isLive } from '@countersign/protocol'
import type { Authority, DecidedBy, KillCause } from '../../authority/authority.js'
import { createLocalAuthority } from '../../authority/local/local-authority.js'
import type { LocalSessionOptions } from '../../authority/local/local-session.js'
import { createOpenCalls, type OpenCalls } from '../../authority/open-calls.js'
import { createRemote } from '../../authority/remote/remote.js'
import { createSessionApi, type SessionApi } from '../../authority/remote/session-api.js'
import { createTransport, type Transport } from '../../authority/transport.js'
import { createReport } from '../../base/create-report.js'
import type { Report } from '../../base/diagnostics.js'
import { ReplayConfigError, ReplayKillError, ReplayUnavailableError } from '../../base/errors.js'
import { singleFlight } from '../../base/single-flight.js'
import { type Conversations, createConversations } from '../../clients/conversations.js'
import type { ReplaySettings } from '../../options/replay-settings.js'
import { type Attachment, attachPlan, DEFAULT_AGENT } from './attachment.js'
import { type Captures, createCaptures } from './captures.js'
import type { Approver } from './checkpoints.js'
import { type Continuations, createContinuations } from './continuations.js'
import { createNotes, type Notes } from './notes.js'
import { reportProtection } from './protection.js'
import { createQuestions, type Questions } from './questions.js'
import { attachedRules, firstRules, type SessionRules, type Stance, stanceOf } from './session-rules.js'
import { createTurnQueue, TURN_TIMEOUT_MS, type TurnQueue } from './turn-queue.js'
import { createVerdicts, type Verdicts } from './verdicts.js'

/** What a session is behind its face: all that its turns and tools read and report to. */
export interface SessionContext {
  readonly settings: ReplaySettings
  readonly report: Report
  readonly notes: Notes
  readonly captures: Captures
  readonly calls: OpenCalls
  readonly verdicts: Verdicts
  readonly queue: TurnQueue
  readonly conversations: Conversations
  readonly continuations: Continuations
  readonly approver: Approver
  /** What people are asked, whether or not this process lives. */
  readonly questions: Questions
  /** Aborted when the session is killed. */
  readonly killed: AbortSignal
  readonly transport: Transport | null
  rules(): SessionRules
  authority(): Authority
  /** Null until the server decides, and where it never does. */
  api(): SessionApi | null
  stance(by: DecidedBy): Stance
  /** Verdicts can stop a call in this session, from either authority. */
  mayBlock(): boolean
  /** Resolves when it is known who judges; throws when there is no authority and that blocks. */
  ready(): Promise<void>
  /** Throws when the session was killed or restored. */
  assertUsable(): void
  /** Gives the evidence gathered so far to the authority that decided. */
  deliver(): Promise<void>
  deliverSoon(): void
  kill(): void
  /** Takes no more calls. */
  end(): void
  hasEnded(): boolean
  /** The original client was called directly. */
  bypass(method: string): void
  isBypassed(): boolean
}

/** Evidence waits this long for that of the step's other calls, so that one request carries it all. */
const GATHERING_MS = 25

/** The name of the provider is null where it comes with each turn. */
export function createSessionContext(settings: ReplaySettings, providerName: string | null): SessionContext {
  const { sessionId, apiKey, gate, onCheckpoint } = settings
  const report = createReport(settings.diagnostics)
  const transport = transportFor(settings, report)
  let rules = firstRules(settings, report)
  if (providerName !== null) rules.checkProvider(providerName, null)
  const calls = createOpenCalls()
  const captures = createCaptures(settings, report)
  const verdicts = createVerdicts()
  const queue = createTurnQueue({
    onLongWait: () => report({ type: 'replay_turn_waiting', session_id: sessionId, detail: LONG_WAIT }),
  })
  const notes = createNotes({ settings, report, rules: () => rules, authority: () => authority })
  const killing = new AbortController()
  let hasEnded = false
  let isBypassed = false
  let gathering: NodeJS.Timeout | undefined
  let api: SessionApi | null = null
  let authority = authorityFor(null)
  const attaching = singleFlight(attach)

  function onKilled(cause: KillCause): void {
    if (killing.signal.aborted) return
    killing.abort(new ReplayKillError())
    queue.release()
    report({ type: 'replay_killed', session_id: sessionId, cause })
  }

  function authorityFor(created: Attachment['created']): Authority {
    const local = localOptions(settings, rules)
    const { governed, loaded, compat } = rules
    const { store, workflow, takeover, onError, maxUnguardedCalls, onInDoubt, shared, principalToken } = settings
    if (!governed || transport === null) return createLocalAuthority({ local, store, onKilled })
    const { identity } = local
    const { compiled } = loaded
    const joins = { workflow, takeover, principalToken, created }
    api = createSessionApi({ transport, identity, compiled, provider: providerName, ...joins })
    const decides = { onError, maxUnguardedCalls, onInDoubt, advises: compat === 'advisory' }
    return createRemote({ api, local, ...decides, report, onKilled, isShared: shared !== null })
  }

  /** Puts the approved plan in force, with everything that the program did in the meantime. */
  async function attach(): Promise<void> {
    if (transport === null) return
    // Calls that pass anyway do not wait long.
    const found = await attachPlan(settings, rules.unjudged ? briefly(transport) : transport)
    rules = attachedRules(settings, found, report)
    report({ type: 'governance_attachment', session_id: sessionId, state: found.state, detail: found.detail })
    const { labels, toolFilter } = authority.current().state()
    authority = authorityFor(found.created)
    for (const label of labels) if (!settings.labels.includes(label)) authority.control({ label })
    if (toolFilter !== null) authority.control({ filter: toolFilter })
    if (killing.signal.aborted) authority.control({ kill: 'client' })
    begin()
  }

  /** Opens the session ahead of the first turn, which tries again and throws if this fails. */
  function begin(): void {
    reportProtection(settings, rules, report)
    if (rules.mode === 'enforce' && rules.refusal === null) authority.open().catch(() => {})
  }

  async function deliver(): Promise<void> {
    clearTimeout(gathering)
    gathering = undefined
    // One after the other, each to the authority that decided its calls.
    for (const { by, items } of calls.takeEvidence()) await authority.settle(by, items)
  }

  const first = rules.attachment === 'pending' ? attaching.run() : begin()

  const stance = (by: DecidedBy): Stance => stanceOf(rules, by)
  return {
    ...{ settings, report, notes, captures, calls, verdicts, queue, transport },
    // Of other gates a program gets only calls that may run.
    conversations:
      gate === 'answer'
        ? createConversations(apiKey, (callId) => verdicts.of(callId)?.verdict ?? null)
        : createConversations(apiKey),
    continuations: createContinuations(),
    approver: { sessionId, onCheckpoint, report, now: () => new Date() },
    questions: createQuestions({
      sessionId,
      api: () => api,
      open: () => authority.open(),
      live: () => liveQuestions(authority.current().state()),
      report,
      killed: killing.signal,
    }),
    killed: killing.signal,
    rules: () => rules,
    authority: () => authority,
    api: () => api,
    stance,
    mayBlock: () => stance('local') === 'enforce' || stance('server') === 'enforce',
    async ready() {
      await first
      // A lookup that got no answer is made again, once for all turns that wait: the server may be back.
      if (rules.attachment === 'fetch_failed') await attaching.run()
      const { refusal } = rules
      if (refusal !== null) throw new ReplayUnavailableError(refusal.message, { cause: refusal.cause })
    },
    assertUsable() {
      if (hasEnded) {
        throw new ReplayConfigError('the session was restored: call the original client, or start a new session', null)
      }
      if (killing.signal.aborted) throw new ReplayKillError()
    },
    deliver,
    deliverSoon() {
      gathering ??= setTimeout(() => void deliver(), GATHERING_MS)
    },
    kill() {
      onKilled('client')
      authority.control({ kill: 'client' })
    },
    end() {
      hasEnded = true
      queue.release()
    },
    hasEnded: () => hasEnded,
    bypass(method) {
      if (hasEnded) return
      isBypassed = true
      report({ type: 'replay_bypass_detected', session_id: sessionId, method })
      authority.control({ bypass: method })
    },
    isBypassed: () => isBypassed,
  }
}

/** Who decides at present, about a call that was not judged. */
export function decider(session: SessionContext): DecidedBy {
  return session.rules().governed && !session.authority().facts().degradedLocal ? 'server' : 'local'
}

function localOptions(settings: ReplaySettings, rules: SessionRules): LocalSessionOptions {
  const { sessionId, shared, environment, unmatchedPolicy, captureLevel, principal, labels, asks, tools, store } =
    settings
  const { loaded, governed, mode, compat, attachment } = rules
  // The plan of a session without an agent was looked up under this name: it is recorded under the same.
  const agent = settings.agent ?? loaded.plan.session.agent ?? (attachment === null ? null : DEFAULT_AGENT)
  const holderId = shared?.holderId ?? `hld_${randomUUID()}`
  const salt = randomBytes(24).toString('base64url')
  return {
    identity: { sessionId, holderId, agent, environment, unmatchedPolicy, captureLevel, principal, labels, asks, salt },
    plan: loaded.plan,
    nowMs: () => Date.now(),
    commitOnReport: () => (settings.addsTools ? tools?.size === 0 : tools === null),
    watches: mode !== 'enforce' || (!governed && compat === 'advisory'),
    keepsHashes: governed || store !== undefined || tools !== null,
  }
}

const briefly = ({ call }: Transport): Transport => ({
  call: (name, sent) => call(name, sent, { attempts: 1, timeoutMs: 2_000 }),
})

function transportFor(settings: ReplaySettings, report: Report): Transport | null {
  const { apiKey, runtimeUrl: baseUrl, timeoutMs, exchange, sessionId: session_id } = settings
  const onThrottled = (wait: number) =>
    report({ type: 'replay_throttled', session_id, wait_ms: Math.round(wait), detail: THROTTLED })
  return apiKey === null ? null : createTransport({ baseUrl, apiKey, timeoutMs, exchange, onThrottled })
}

const THROTTLED =
  "the tenant's quota is used up for now, so calls wait; on quota free a tenant has 30 POST requests per minute, about ten turns. " +
  'The dashboard shows it under Limits and usage, and the operator raises it with countersign tenant quota TENANT team'

const LONG_WAIT =
  'a call is waiting for the previous one, which has not ended: if that is a stream, read it to the end, or close it ' +
  `with break or abort(); after ${TURN_TIMEOUT_MS / 1_000} s the call goes ahead`

const liveQuestions = ({ questions = [] }: SessionState): string[] =>
  questions.filter(({ state }) => isLive(state)).map(({ id }) => id)
