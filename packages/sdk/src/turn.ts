import type { AsyncLocalStorage } from 'node:async_hooks'
import { type Plan, type ReadResponse, readInputValues, readResponse } from '@countersign/engine'
import type { Decision, Flows, JsonValue, NarrowedTool } from '@countersign/protocol'
import type { Authority, BlockedTurn, DecidedBy, Judgement, PreflightAsk, PreparedTurn } from './authority.js'
import { blockedDecision } from './blocked-decision.js'
import type { CallBook, OpenCall } from './call-book.js'
import type { Approver } from './checkpoints.js'
import type { Conversations, OpenRequest } from './conversations.js'
import { type EnforcementDecision, ReplayConfigError, ReplayContractError } from './errors.js'
import { enforcementOf, explain, passGate } from './gate.js'
import type { JsonObject } from './json-object.js'
import { judgeCalls } from './judge-calls.js'
import { narrowingText } from './narrowing-feedback.js'
import type { OfferedTool, Provider, RequestView } from './providers/provider.js'
import type { AbandonedAnswer, ModelAnswer, Prepared, TurnHooks, Verdict } from './providers/turn-hooks.js'
import { jsonOf, reportedReceipt } from './receipts.js'
import type { ReplaySettings } from './replay-options.js'
import type { RunningTool } from './tools.js'
import { createTrace, type Trace, traceDecisions, traceNarrowing } from './trace.js'
import { ServiceRefusal } from './transport.js'
import type { TurnQueue } from './turn-queue.js'

/** How a judgement is taken: it binds, it is told, it is recorded, or there is none. */
export type Stance = 'enforce' | 'advise' | 'shadow' | 'log'

/** What a turn needs of its session. */
export interface TurnSession {
  readonly settings: ReplaySettings
  readonly book: CallBook
  readonly queue: TurnQueue
  readonly running: AsyncLocalStorage<RunningTool>
  readonly conversations: Conversations
  readonly approver: Approver
  authority(): Authority
  stance(by: DecidedBy): Stance
  /** Waits until it is known who judges. Throws when nobody can and that blocks. */
  ready(): Promise<void>
  /** Throws when the session was killed or restored. */
  assertUsable(): void
  /** Throws when a constraint forbids this model. */
  checkProvider(provider: string, model: string): void
  deliver(): Promise<void>
  readonly notes: TurnNotes
}

/** Where a turn leaves what the program may ask for later. */
export interface TurnNotes {
  narrowed(allowed: readonly OfferedTool[], removed: readonly NarrowedTool[]): void
  blocked(decision: EnforcementDecision): void
  /** What would have been removed and blocked, in a session that only watches or advises. */
  watched(stance: Stance, removed: readonly NarrowedTool[], decisions: readonly Decision[]): void
  traced(trace: Trace): void
  failed(error: unknown): void
  answered(turn: AnsweredTurn): void
}

export interface AnsweredTurn {
  readonly provider: Provider
  readonly view: RequestView
  readonly answer: ModelAnswer
  readonly response: ReadResponse
  readonly opened: OpenRequest
  readonly flows: Flows
  readonly stance: Stance
  readonly decisions: readonly Decision[]
  readonly by: DecidedBy | null
}

/** One governed call of a model with its retries: preflight, narrowed request, proposal, checkpoints, gate. */
export function createTurn(session: TurnSession, provider: Provider): TurnHooks {
  const { settings, notes } = session
  let leaveQueue: (() => void) | null = null
  let asked: Asked | null = null
  let retries = 0

  const finish = (): void => {
    leaveQueue?.()
    leaveQueue = null
  }

  async function prepare(request: JsonObject): Promise<Prepared> {
    session.assertUsable()
    const view = provider.readRequest(request)
    refuseNested(session, view)
    try {
      await session.ready()
      session.checkProvider(provider.name, view.model)
      if (view.tools.length > 0 && binds(session)) leaveQueue ??= await session.queue.enter()
      session.assertUsable()
      asked = { request, view, trace: createTrace(), opened: session.conversations.open(view), prepared: null }
      notes.traced(asked.trace)
      const prepared = await prepareTurn(session, provider, asked)
      if ('text' in prepared) finish()
      return prepared
    } catch (error) {
      finish()
      throw error
    }
  }

  async function judge(answer: ModelAnswer): Promise<Verdict> {
    if (asked === null) throw new Error('a turn is judged before it was prepared')
    let goesOn = false
    try {
      const verdict = await judgeTurn(session, provider, asked, answer)
      if (verdict.action !== 'refuse') return verdict
      if (retries >= settings.maxRetries) throw verdict.error
      retries++
      goesOn = true
      return { action: 'retry', request: provider.withAppendedText(asked.request, verdict.error.message) }
    } finally {
      if (!goesOn) finish()
    }
  }

  /** Nothing is released, and what the model used is counted still. */
  async function abandon(answer: AbandonedAnswer): Promise<void> {
    try {
      const prepared = asked?.prepared ?? null
      if (prepared === null) return
      asked?.trace.add('llm_call', 'block', { reason: answer.why })
      if (answer.why === 'failed' || answer.response === null) return session.authority().abandon(prepared)
      const { model, usage } = readResponse(answer.response)
      const response = { tool_calls: [], ...(model !== null && { model }), ...(usage !== null && { usage }) }
      await session.authority().propose({ prepared, response, gate: settings.gate, flows: undefined })
    } catch (error) {
      notes.failed(error)
    } finally {
      finish()
    }
  }

  return { prepare, judge, abandon, holdStreams: settings.maxRetries > 0 }
}

interface Asked {
  readonly request: JsonObject
  readonly view: RequestView
  readonly trace: Trace
  readonly opened: OpenRequest
  /** Null until preflight, and where nobody judges. */
  prepared: PreparedTurn | null
}

/** Judgements of this session can stop a call, whoever makes them. */
const binds = (session: TurnSession): boolean =>
  session.stance('local') === 'enforce' || session.stance('server') === 'enforce'

/** A tool waits for the turn, and the turn would wait for the tool. */
function refuseNested({ running, book }: TurnSession, view: RequestView): void {
  const tool = running.getStore()
  if (view.tools.length === 0 || tool === undefined || !tool.active || tool.book !== book) return
  throw new ReplayContractError(
    'a model call that offers tools was made inside a wrapped tool of the same session; each would wait for the other: ' +
      'use another session there, or leave the tools out',
    { outcome: 'blocked', decisions: [], blocked: [] },
  )
}

async function prepareTurn(session: TurnSession, provider: Provider, asked: Asked): Promise<Prepared> {
  const { request, view, trace } = asked
  if (session.stance('server') === 'log') return { request }
  if (binds(session)) refuseUngovernable(view)
  if (view.tools.length > 0) await settleEarlierCalls(session, view)
  const ask = askOf(session.authority().plan, provider, asked)
  const preflight = await session.authority().preflight(ask)
  const isEnforced = session.stance(preflight.by) === 'enforce'
  if (preflight.outcome === 'blocked') {
    trace.add('pre_check', 'block', { reason: preflight.reason, found: preflight.detail ?? null })
    if (isEnforced) return blockedBeforeAsking(session, preflight)
    asked.prepared = unnarrowed(ask)
    return { request }
  }
  asked.prepared = preflight
  trace.add('pre_check', 'pass')
  traceNarrowing(trace, preflight.allowed, preflight.removed)
  if (!isEnforced) return { request }
  const allowed = new Set(preflight.allowed)
  session.notes.narrowed(
    view.tools.filter(({ name }) => allowed.has(name)),
    preflight.removed,
  )
  if (preflight.removed.length === 0) return { request }
  const narrowed = provider.withTools(request, allowed)
  if (session.settings.narrowingFeedback !== 'inject') return { request: narrowed }
  return { request: provider.withSystemText(narrowed, narrowingText(preflight.removed)) }
}

function refuseUngovernable({ refusals }: RequestView): void {
  if (refusals.length > 0) throw new ReplayConfigError(`the request cannot be governed: ${refusals.join('; ')}`, null)
}

/** Where nothing is enforced, a turn that would have been blocked goes on with all its tools. */
function unnarrowed(ask: PreflightAsk): PreparedTurn {
  const allowed = ask.tools.map(({ name }) => name)
  return { outcome: 'prepared', by: 'local', preparedRequestId: 'unprepared', ask, allowed, removed: [] }
}

function blockedBeforeAsking({ settings, notes }: TurnSession, blocked: BlockedTurn): Prepared {
  const { reason, remedy, detail } = blocked
  const decision = enforcementOf(
    [blockedDecision({ call_id: '', tool_name: '*' }, reason, remedy, detail)],
    settings.gate,
  )
  notes.blocked(decision)
  if (settings.gate === 'strip_blocked') return { text: remedy }
  throw new ReplayContractError(`the model was not asked (${reason}). ${remedy}`, decision)
}

function askOf(plan: Plan, provider: Provider, { request, view }: Asked): PreflightAsk {
  const tools = new Map(view.tools.map(({ name, kind }) => [name, { name, kind }]))
  return {
    tools: [...tools.values()],
    provider: provider.name,
    model: view.model,
    request: plan.inputPaths.length === 0 ? {} : readInputValues(plan, jsonOf(request) ?? null),
  }
}

/**
 * Before the next step, every allowed call gets an outcome. A result among the messages is the program's word that
 * the tool ran. Without one, a wrapper that never started is sure that it did not; for other tools nobody knows.
 */
async function settleEarlierCalls({ book, settings, deliver }: TurnSession, view: RequestView): Promise<void> {
  await book.idle()
  const answered = new Set(view.toolResults.map(({ callId }) => callId))
  for (const call of book.allowed()) {
    const silent = settings.tools?.has(call.toolName) ? 'not_executed' : 'unknown'
    book.resolve(call, reportedReceipt(call, answered.has(call.callId) ? 'succeeded' : silent))
  }
  await deliver()
}

type Judged = Verdict | { readonly action: 'refuse'; readonly error: ReplayContractError }

async function judgeTurn(session: TurnSession, provider: Provider, asked: Asked, answer: ModelAnswer): Promise<Judged> {
  const { prepared, trace, view, opened } = asked
  const response = readResponse(answer.response)
  const flows = opened.answered(response, typeof answer.response.id === 'string' ? answer.response.id : null)
  trace.add('llm_call', 'pass')
  const done = (stance: Stance, decisions: readonly Decision[], by: DecidedBy | null): void =>
    session.notes.answered({ provider, view, answer, response, opened, flows, stance, decisions, by })
  if (prepared === null) {
    done('log', [], null)
    return { action: 'release' }
  }
  session.assertUsable()
  const stance = session.stance(prepared.by)
  if (stance !== 'enforce') {
    const decisions = await watchTurn(session, asked, prepared, { response, flows, answer, stance })
    done(stance, decisions, prepared.by)
    return { action: 'release' }
  }
  const judgement = isCutShort(answer, response)
    ? await rejectCutShort(session, prepared, response)
    : await proposeTurn(session, prepared, answer, response, flows)
  traceDecisions(trace, judgement.decisions)
  const judged = await judgeCalls(judgement, response.calls, session.approver)
  done(stance, judged.decisions, judgement.by)
  return passThroughGate(session, asked, judged)
}

const isCutShort = (answer: ModelAnswer, { calls }: ReadResponse): boolean => !answer.complete && calls.length > 0

/** A stream that broke off inside its calls: none of them can be trusted to be whole. Its cost counts. */
async function rejectCutShort(
  session: TurnSession,
  prepared: PreparedTurn,
  response: ReadResponse,
): Promise<Judgement> {
  const usage = response.usage !== null && { usage: response.usage }
  const model = response.model !== null && { model: response.model }
  const ask = {
    prepared,
    response: { tool_calls: [], ...model, ...usage },
    gate: session.settings.gate,
    flows: undefined,
  }
  const { by } = await session.authority().propose(ask)
  const remedy = 'The stream ended before the answer was whole. Ask again.'
  const decisions = response.calls.map(({ id, name, index }) =>
    blockedDecision(
      { call_id: id, tool_name: name, index },
      'response_format_invalid',
      remedy,
      'the stream was cut short',
    ),
  )
  return { by, outcome: 'blocked', decisions }
}

async function proposeTurn(
  session: TurnSession,
  prepared: PreparedTurn,
  answer: ModelAnswer,
  response: ReadResponse,
  flows: Flows,
): Promise<Judgement> {
  const ask = { response: sentResponse(answer), gate: session.settings.gate, flows }
  try {
    return await session.authority().propose({ ...ask, prepared })
  } catch (error) {
    if (response.calls.length > 0 || !isStale(error)) throw error
    // The session moved on beside a turn that calls nothing, such as a summary: only its cost is left to count.
    const again = await session.authority().preflight(prepared.ask)
    if (again.outcome === 'blocked') return { by: again.by, outcome: 'no_calls', decisions: [] }
    return session.authority().propose({ ...ask, prepared: again })
  }
}

const isStale = (error: unknown): boolean =>
  error instanceof ReplayContractError &&
  error.cause instanceof ServiceRefusal &&
  error.cause.code === 'PREPARED_REQUEST_STALE'

/** Hidden members of the client's objects stay behind; what JSON cannot write is no response. */
const sentResponse = (answer: ModelAnswer): JsonValue => jsonOf(answer.response) ?? null

interface Watched {
  readonly response: ReadResponse
  readonly flows: Flows
  readonly answer: ModelAnswer
  readonly stance: Stance
}

/** Judges without a consequence: not even a failure of the judgement has one. */
async function watchTurn(
  session: TurnSession,
  { trace }: Asked,
  prepared: PreparedTurn,
  { response, flows, answer, stance }: Watched,
): Promise<readonly Decision[]> {
  try {
    const ask = { prepared, response: sentResponse(answer), gate: 'strip_blocked', flows } as const
    const judgement = await session.authority().propose(ask)
    traceDecisions(trace, judgement.decisions)
    const { open, decisions } = await judgeCalls(judgement, response.calls, null)
    session.book.open(open)
    session.notes.watched(stance, prepared.removed, decisions)
    return decisions
  } catch (error) {
    session.notes.failed(error)
    return []
  }
}

async function passThroughGate(
  session: TurnSession,
  { trace }: Asked,
  {
    decisions,
    open,
    stopped,
  }: { decisions: readonly Decision[]; open: readonly OpenCall[]; stopped: readonly OpenCall[] },
): Promise<Judged> {
  const { settings, book, notes } = session
  const giveUp = async (calls: readonly OpenCall[]): Promise<void> => {
    for (const call of calls) book.resolve(call, reportedReceipt(call, 'not_executed'))
    if (calls.length > 0) await session.deliver()
  }
  try {
    // People take their time: the session may have been killed meanwhile.
    session.assertUsable()
  } catch (error) {
    await giveUp([...open, ...stopped])
    throw error
  }
  const enforcement = enforcementOf(decisions, settings.gate)
  const result = passGate(settings.gate, decisions)
  if (enforcement.blocked.length > 0) notes.blocked(enforcement)
  trace.add('gate', result.action === 'refuse' ? 'block' : 'pass', { reason: result.action })
  if (result.action === 'refuse') {
    await giveUp([...open, ...stopped])
    return { action: 'refuse', error: new ReplayContractError(explain(enforcement.blocked), enforcement) }
  }
  book.open(open)
  await giveUp(stopped)
  trace.add('finalize', 'pass')
  return result
}
