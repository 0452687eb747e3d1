import { randomUUID } from 'node:crypto'
import { type Plan, readInputValues } from '@countersign/engine'
import type { JsonValue, Outcome } from '@countersign/protocol'
import type { BlockedTurn, PreflightRequest, PreflightResult, PreparedTurn } from '../authority/authority.js'
import { blockedDecision } from '../authority/blocked-decision.js'
import type { OpenCall } from '../authority/open-calls.js'
import { reportedReceipt } from '../authority/receipts.js'
import { isInsideTool } from '../authority/running-tools.js'
import { CallsWaitingError, ReplayConfigError, ReplayContractError } from '../base/errors.js'
import type { JsonObject } from '../base/json-object.js'
import { writtenJson } from '../base/written-json.js'
import type { Provider, RequestView } from '../providers/provider.js'
import { enforcementOf, narrowingText } from '../session/core/gate.js'
import type { SessionContext } from '../session/core/session-context.js'
import { createTrace } from '../session/core/trace.js'
import { timesIn } from './register-calls.js'
import { type ReportedResults, readReportedResults } from './reported-results.js'
import type { Prepared, TurnRequest } from './turn-hooks.js'

/** A request at the start of its turn. */
export function openRequest(
  session: SessionContext,
  provider: Provider,
  request: JsonObject,
  view: RequestView,
): TurnRequest {
  const trace = createTrace()
  session.notes.traced(trace)
  const { previousResponseId } = view
  const opened = followsConversations(session)
    ? session.conversations.open({ messages: provider.readMessages(request), previousResponseId })
    : null
  return { request, view, trace, opened, prepared: null }
}

/** Flows are needed: for captures, for the server, or for contracts with `sources`. */
function followsConversations({ captures, rules }: SessionContext): boolean {
  const { governed, loaded } = rules()
  return captures.isActive() || governed || loaded.readsSources
}

/** What may be sent after preflight: the narrowed request, or the text that is said instead. */
export function narrowRequest(
  session: SessionContext,
  provider: Provider,
  asked: TurnRequest,
  preflight: PreflightRequest,
  result: PreflightResult,
): Prepared {
  const { request, view, trace } = asked
  const isEnforced = session.stance(result.by) === 'enforce'
  if (result.outcome === 'blocked') {
    trace.add('pre_check', 'block', { reason: result.reason, found: result.detail ?? null })
    if (isEnforced) return blockedBeforeAsking(session, result)
    asked.prepared = unnarrowed(preflight)
    return { request }
  }
  asked.prepared = result
  trace.add('pre_check', 'pass')
  trace.narrowed(result.allowed, result.removed)
  if (!isEnforced) return { request }
  if (result.removed.length === 0) {
    session.notes.narrowed(view.tools, result.removed)
    return { request }
  }
  const allowed = new Set(result.allowed)
  session.notes.narrowed(
    view.tools.filter(({ name }) => allowed.has(name)),
    result.removed,
  )
  const sendable = provider.withTools(request, allowed)
  if (session.settings.narrowingFeedback !== 'inject') return { request: sendable }
  return { request: provider.withSystemText(sendable, narrowingText(result.removed)) }
}

/** A tool waits for the turn, and the turn would wait for the tool. */
export function refuseNested({ calls }: SessionContext, view: RequestView): void {
  if (view.tools.length === 0 || !isInsideTool(calls)) return
  throw new ReplayContractError(
    'a wrapped tool made a model call with tools in its own session, and each would wait for the other: ' +
      'run a sub-agent under a session of its own (session.delegate opens it as a handoff), or omit the tools',
    { outcome: 'blocked', decisions: [], blocked: [] },
  )
}

export function refuseUngovernable({ refusals }: RequestView): void {
  if (refusals.length > 0) throw new ReplayConfigError(`the request cannot be governed: ${refusals.join('; ')}`, null)
}

/** Where nothing is enforced, a turn that would have been blocked goes on with all its tools. */
function unnarrowed(request: PreflightRequest): PreparedTurn {
  const allowed = request.tools.map(({ name }) => name)
  return { outcome: 'prepared', by: 'local', preparedRequestId: 'unprepared', request, allowed, removed: [] }
}

function blockedBeforeAsking({ settings, notes }: SessionContext, blocked: BlockedTurn): Prepared {
  const { reason, remedy, detail } = blocked
  const decision = enforcementOf(
    [blockedDecision({ call_id: '', tool_name: '*' }, reason, remedy, detail)],
    settings.gate,
  )
  notes.blocked(decision)
  const isSaid = settings.gate === 'strip_blocked' || settings.gate === 'answer'
  if (isSaid) return { said: { text: remedy, id: randomUUID() }, reason }
  throw new ReplayContractError(`the model was not called (${reason}). ${remedy}`, decision)
}

export function preflightOf(
  plan: Plan,
  provider: Provider,
  { request, view }: TurnRequest,
  isShared = false,
  waitsFor?: (callId: string) => boolean,
): PreflightRequest {
  const tools = new Map<string, PreflightRequest['tools'][number]>()
  for (const { name, kind } of view.tools) tools.set(name, { name, kind })
  return {
    tools: [...tools.values()],
    provider: provider.name,
    model: view.model,
    inputs: plan.inputPaths.length === 0 ? {} : readInputValues(plan, writtenRequest(request)),
    reported: isShared ? reportOf(plan, provider, request, waitsFor) : undefined,
  }
}

/** What cannot be written cannot be sent either, and an empty request would pass rules about what it may not hold. */
function writtenRequest(request: TurnRequest['request']): JsonValue {
  const written = writtenJson(request)
  if (written === undefined) throw new ReplayConfigError('the request cannot be written as JSON', null)
  return written
}

/** Before the next step, every allowed call gets an outcome. */
export function resolveEarlierCalls(session: SessionContext, provider: Provider, { view, request }: TurnRequest): void {
  const { calls, settings, notes } = session
  if (settings.shared !== null) {
    resolveByHistory(session, readReportedResults(provider.readMessages(request)))
    return
  }
  const notRun = [...calls.asking()]
  for (const call of calls.allowed()) {
    const isWrapped = settings.tools?.has(call.toolName) ?? false
    const answered = timesIn(view.answeredCallIds, call.callId)
    const outcome = isWrapped ? outcomeNotRun(answered) : outcomeReported(call, answered)
    if (outcome === 'not_executed') {
      notRun.push(call)
      continue
    }
    if (answered > call.answeredBefore) reportUnproven(session, call, isWrapped)
    calls.resolve(call, reportedReceipt(call, outcome))
  }
  for (const call of notRun) calls.giveUp(call, reportedReceipt(call, 'not_executed'))
  if (notRun.length > 0 && session.mayBlock()) notes.gaveUp(notRun)
}

/** A gateway runs no tool: what became of one stands in the conversation, with its result. */
function resolveByHistory({ calls, authority, notes }: SessionContext, results: ReportedResults): void {
  // Only calls that the gateway itself runs wait for a person.
  for (const call of calls.asking()) calls.resolve(call, reportedReceipt(call, 'not_executed'))
  for (const call of calls.allowed()) {
    const receipt = call.refused
      ? reportedReceipt(call, 'unknown')
      : results.receiptFor(call, call.callId, authority().saltOf(call.by))
    if (receipt.outcome === 'succeeded' && call.decision.commit_requirement === 'executed') {
      notes.unproven(call.toolName, false)
    }
    calls.resolve(call, receipt)
  }
}

/** The same for a call that another process has proposed. */
const reportOf =
  (
    plan: Plan,
    provider: Provider,
    request: TurnRequest['request'],
    waitsFor: (callId: string) => boolean = () => false,
  ): NonNullable<PreflightRequest['reported']> =>
  (call, salt) => {
    if (waitsFor(call.call_id)) throw waitsForOthers()
    const made = {
      pendingCallId: call.pending_call_id,
      argumentHash: call.argument_hash,
      approvals: [],
      decision: { output_paths: [...(plan.contracts.get(call.tool_name)?.outputPaths ?? [])] },
    }
    return readReportedResults(provider.readMessages(request)).receiptFor(made, call.call_id, salt)
  }

/** Settling them here would take away what a model was allowed, and what the next request says of it. */
export function waitsForOthers(): CallsWaitingError {
  return new CallsWaitingError(
    "calls of the model's latest answer in this session have no outcome yet: make those first, with the tool and the " +
      'arguments that the model gave, or send the model their results',
  )
}

/**
 * The wrapper never started. What answers the call all the same may be the text of an error, or the result of the
 * program's own run of the tool: then nobody knows, and it opens nothing.
 */
const outcomeNotRun = (answered: number): Outcome => (answered === 0 ? 'not_executed' : 'unknown')

/** A new result is the program's report that the tool ran; one may also be that of an earlier call with the same id. */
const outcomeReported = ({ answeredBefore }: OpenCall, answered: number): Outcome =>
  answered > answeredBefore ? 'succeeded' : 'unknown'

/** Such a call opens nothing, and nothing else would say why. */
function reportUnproven({ notes }: SessionContext, { decision, toolName }: OpenCall, isWrapped: boolean): void {
  if (isWrapped || decision.commit_requirement === 'executed') notes.unproven(toolName, isWrapped)
}
