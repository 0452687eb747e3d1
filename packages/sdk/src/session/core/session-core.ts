import { randomBytes, randomUUID } from 'node:crypto'
import type { NarrowingSnapshot } from '@countersign/protocol'
import type { Authority, DecidedBy, KillCause } from '../../authority/authority.js'
import { createLocalAuthority } from '../../authority/local/local-authority.js'
import type { LocalSessionOptions } from '../../authority/local/local-session.js'
import { createOpenCalls, type EvidenceBatch, type OpenCalls } from '../../authority/open-calls.js'
import { createGovernedAuthority } from '../../authority/server/governed-authority.js'
import { createServerSession, type ServerSession } from '../../authority/server/server-session.js'
import { createTransport, type ReplyOf, type Transport } from '../../authority/transport.js'
import { createReport } from '../../base/create-report.js'
import type { Report } from '../../base/diagnostics.js'
import { ReplayConfigError, ReplayKillError, ReplayUnavailableError } from '../../base/errors.js'
import type { ReplaySettings } from '../../options/replay-settings.js'
import type { Stance } from '../../turn/turn-session.js'
import { attachSharedSession } from './attach-shared-session.js'
import { ATTACHED_AS, type Attachment, attachPlan, DEFAULT_AGENT } from './attachment.js'
import { createProviderCheck } from './provider-pattern.js'
import { reportProtection } from './report-protection.js'
import { attachedRules, firstRules, isUnjudged, type SessionRules } from './session-rules.js'

/** What a session is made of, apart from its face: its rules, who judges by them, and whether it still takes calls. */
export interface SessionCore {
  readonly settings: ReplaySettings
  readonly report: Report
  readonly openCalls: OpenCalls
  readonly killSignal: AbortSignal
  /** Called when the session takes no more calls. */
  onEnd(listener: () => void): void
  readonly transport: Transport | null
  /** Null until the server decides, and where it never does. */
  server(): ServerSession | null
  rules(): SessionRules
  authority(): Authority
  stance(by: DecidedBy): Stance
  checkProvider(provider: string, model: string | null): void
  /** It is known who judges, and somebody can. */
  isReady(): boolean
  /** Resolves when it is known who judges; throws when nobody can. */
  ready(): Promise<void>
  assertUsable(): void
  isKilled(): boolean
  isRestored(): boolean
  end(): void
  setFilter(tools: readonly string[] | null): void
  kill(): void
  /** Gives the evidence gathered so far to whoever decided. */
  deliver(): Promise<void>
  deliverSoon(): void
  snapshot(lastNarrowing: NarrowingSnapshot | null): ReturnType<Authority['snapshot']>
}

/** Evidence waits this long for that of the step's other calls, so that one request carries it all. */
const GATHERING_MS = 25

/** The name of the provider is null where it comes with each turn. */
export function createSessionCore(settings: ReplaySettings, providerName: string | null): SessionCore {
  const { sessionId } = settings
  const report = createReport(settings.diagnostics)
  const openCalls = createOpenCalls()
  const killing = new AbortController()
  const transport = transportFor(settings, report)
  let rules = firstRules(settings, report)
  let isRestored = false
  const endListeners: (() => void)[] = []
  const notifyEnd = (): void => {
    for (const listener of endListeners) listener()
  }
  let filter: readonly string[] | null = null
  let gathering: NodeJS.Timeout | undefined
  let server: ServerSession | null = null
  let checkProvider = providerCheckFor(rules)
  if (providerName !== null) checkProvider(providerName, null)
  let authority = authorityFor(rules)

  function providerCheckFor({ loaded }: SessionRules) {
    const constraints = [settings.providerConstraints, loaded.plan.session.provider_constraints]
    return createProviderCheck(constraints, { report, sessionId })
  }

  function onKilled(cause: KillCause): void {
    if (killing.signal.aborted) return
    killing.abort(new ReplayKillError())
    notifyEnd()
    report({ type: 'replay_killed', session_id: sessionId, cause })
  }

  function authorityFor(
    { loaded, governed, mode, compat, attachment }: SessionRules,
    created: ReplyOf<'createSession'> | null = null,
  ): Authority {
    const watches = mode !== 'enforce' || (!governed && compat === 'advisory')
    const local: LocalSessionOptions = {
      identity: {
        sessionId,
        holderId: settings.shared?.holderId ?? `hld_${randomUUID()}`,
        // The plan of a session without an agent was looked up under this name: it is recorded under the same.
        agent: settings.agent ?? loaded.plan.session.agent ?? (attachment === null ? null : DEFAULT_AGENT),
        environment: settings.environment,
        unmatchedPolicy: settings.unmatchedPolicy,
        captureLevel: settings.captureLevel,
        principal: settings.principal,
        labels: settings.labels,
        salt: randomBytes(24).toString('base64url'),
      },
      plan: loaded.plan,
      nowMs: () => Date.now(),
      commitOnReport: () => (settings.wrapsLater ? settings.tools?.size === 0 : settings.tools === null),
      watches,
      keepsHashes: governed || settings.store !== undefined || settings.tools !== null,
    }
    if (!governed || transport === null) return createLocalAuthority({ local, store: settings.store, onKilled })
    const { workflow, takeover, onError, maxUnguardedCalls, onInDoubt } = settings
    const { identity } = local
    server = createServerSession({
      transport,
      identity,
      compiled: loaded.compiled,
      provider: providerName,
      workflow,
      takeover,
      created,
    })
    const isShared = settings.shared !== null
    const advises = compat === 'advisory'
    const decides = { onError, maxUnguardedCalls, onInDoubt, advises }
    return createGovernedAuthority({ server, local, ...decides, report, onKilled, isShared })
  }

  /** Puts the approved plan in force, with everything that the program did in the meantime. */
  async function attach(found: Transport): Promise<void> {
    const { attachment, created } = await attachTo(settings, found)
    rules = attachedRules(settings, attachment)
    report({ type: 'governance_attachment', session_id: sessionId, state: attachment.state, detail: attachment.detail })
    const before = authority.labels()
    checkProvider = providerCheckFor(rules)
    authority = authorityFor(rules, created)
    for (const label of before) if (!settings.labels.includes(label)) authority.addLabel(label)
    if (filter !== null) authority.setFilter(filter)
    if (killing.signal.aborted) authority.kill('client')
    reportProtection(settings, rules, report)
    startSoon()
  }

  /** Ahead of the first turn, which tries again and throws if this fails. */
  function startSoon(): void {
    if (rules.mode === 'enforce' && rules.refusal === null) authority.start().catch(() => {})
  }

  let attaching: Promise<void> | null = null
  let attachingAgain: Promise<void> | null = null
  if (rules.attachment === 'pending' && transport !== null) attaching = attach(transport)
  else {
    reportProtection(settings, rules, report)
    startSoon()
  }

  async function deliver(): Promise<void> {
    if (gathering !== undefined) clearTimeout(gathering)
    gathering = undefined
    const batches = openCalls.takeEvidence()
    const [batch] = batches
    if (batch === undefined) return
    await (batches.length === 1 ? authority.submit(batch.by, batch.items) : submitAll(batches, authority))
  }

  return {
    settings,
    report,
    openCalls,
    transport,
    killSignal: killing.signal,
    onEnd: (listener) => void endListeners.push(listener),
    server: () => server,
    rules: () => rules,
    authority: () => authority,
    stance(by) {
      if (rules.mode === 'log-only') return 'log'
      if (rules.mode === 'shadow') return 'shadow'
      return (rules.governed && by === 'server') || rules.compat === 'protective' ? 'enforce' : 'advise'
    },
    checkProvider: (provider, model) => checkProvider(provider, model),
    isReady: () => attaching === null && rules.refusal === null && !isUnjudged(settings, rules),
    async ready() {
      await attaching
      // A lookup that got no answer is made again, once for all turns that wait: the server may be back.
      if (rules.attachment === 'fetch_failed' && transport !== null) {
        attachingAgain ??= attach(isUnjudged(settings, rules) ? briefly(transport) : transport).finally(() => {
          attachingAgain = null
        })
        await attachingAgain
      }
      if (rules.refusal !== null)
        throw new ReplayUnavailableError(rules.refusal.message, { cause: rules.refusal.cause })
    },
    assertUsable() {
      if (isRestored) {
        throw new ReplayConfigError('the session was restored: call the original client, or start a new session', null)
      }
      if (killing.signal.aborted) throw new ReplayKillError()
    },
    isKilled: () => killing.signal.aborted,
    isRestored: () => isRestored,
    end() {
      isRestored = true
      notifyEnd()
    },
    setFilter(tools) {
      filter = tools
      authority.setFilter(tools)
    },
    kill() {
      onKilled('client')
      authority.kill('client')
    },
    deliver,
    deliverSoon() {
      gathering ??= setTimeout(() => void deliver(), GATHERING_MS)
    },
    snapshot: (lastNarrowing) => authority.snapshot(lastNarrowing),
  }
}

/** Calls that pass anyway do not wait long. */
const briefly = ({ call }: Transport): Transport => ({
  call: (name, sent) => call(name, sent, { attempts: 1, timeoutMs: 2_000 }),
})

interface Attached {
  readonly attachment: Attachment
  /** The session, where it was opened on the way. */
  readonly created: ReplyOf<'createSession'> | null
}

/** A session of several processes goes by its own plan, even if another was approved since it began. */
async function attachTo(settings: ReplaySettings, transport: Transport): Promise<Attached> {
  const isEnforced = (settings.mode ?? ATTACHED_AS[settings.environment].mode) === 'enforce'
  if (settings.shared !== null && isEnforced) return attachSharedSession(settings, settings.shared.holderId, transport)
  return { attachment: await attachPlan(settings, transport), created: null }
}

/** One after the other, each to whoever decided its calls. */
async function submitAll(batches: readonly EvidenceBatch[], authority: Authority): Promise<void> {
  for (const { by, items } of batches) await authority.submit(by, items)
}

function transportFor(settings: ReplaySettings, report: Report): Transport | null {
  const { apiKey, runtimeUrl: baseUrl, timeoutMs, exchange, sessionId: session_id } = settings
  const onThrottled = (wait: number) =>
    report({ type: 'replay_throttled', session_id, wait_ms: Math.round(wait), detail: THROTTLED })
  return apiKey === null ? null : createTransport({ baseUrl, apiKey, timeoutMs, exchange, onThrottled })
}

const THROTTLED =
  "the tenant's quota is used up for now, so calls wait; on quota free a tenant has 30 POST requests per minute, about ten turns. " +
  'The dashboard shows it under Limits and usage, and the operator raises it with countersign tenant quota TENANT team'
