import { randomUUID } from 'node:crypto'
import { type Plan, readInputValues } from '@countersign/engine'
import type { JsonValue, Outcome } from '@countersign/protocol'
import type { BlockedTurn, Preflight, PreflightAsk, PreparedTurn } from '../authority/authority.js'
import { blockedDecision } from '../authority/blocked-decision.js'
import type { OpenCall } from '../authority/open-calls.js'
import { ReplayConfigError, ReplayContractError } from '../base/errors.js'
import { isPromised, type KnownOrPromised } from '../base/known-or-promised.js'
import { writtenJson } from '../base/written-json.js'
import type { Prepared } from '../clients/turn-hooks.js'
import type { Provider, RequestView } from '../providers/provider.js'
import { enforcementOf } from './gate.js'
import { timesIn } from './judge-calls.js'
import { narrowingText } from './narrowing-feedback.js'
import { reportedReceipt } from './receipts.js'
import { type Asked, binds, type TurnSession } from './turn-session.js'

/** Settles what came before, has the request prepared, and narrows it. */
export function prepareTurn(session: TurnSession, provider: Provider, asked: Asked): KnownOrPromised<Prepared> {
  const { request, view } = asked
  if (session.stance('server') === 'log') return { request }
  if (binds(session)) refuseUngovernable(view)
  const settling = view.tools.length > 0 ? settleEarlierCalls(session, view) : undefined
  if (isPromised(settling)) return settling.then(() => askAuthority(session, provider, asked))
  return askAuthority(session, provider, asked)
}

function askAuthority(session: TurnSession, provider: Provider, asked: Asked): KnownOrPromised<Prepared> {
  const ask = askOf(session.authority().plan, provider, asked)
  const preflight = session.authority().preflight(ask)
  if (isPromised(preflight)) return preflight.then((answer) => narrowedBy(session, provider, asked, ask, answer))
  return narrowedBy(session, provider, asked, ask, preflight)
}

function narrowedBy(
  session: TurnSession,
  provider: Provider,
  asked: Asked,
  ask: PreflightAsk,
  preflight: Preflight,
): Prepared {
  const { request, view, trace } = asked
  const isEnforced = session.stance(preflight.by) === 'enforce'
  if (preflight.outcome === 'blocked') {
    trace.add('pre_check', 'block', { reason: preflight.reason, found: preflight.detail ?? null })
    if (isEnforced) return blockedBeforeAsking(session, preflight)
    asked.prepared = unnarrowed(ask)
    return { request }
  }
  asked.prepared = preflight
  trace.add('pre_check', 'pass')
  trace.narrowed(preflight.allowed, preflight.removed)
  if (!isEnforced) return { request }
  if (preflight.removed.length === 0) {
    session.notes.narrowed(view.tools, preflight.removed)
    return { request }
  }
  const allowed = new Set(preflight.allowed)
  session.notes.narrowed(
    view.tools.filter(({ name }) => allowed.has(name)),
    preflight.removed,
  )
  const narrowed = provider.withTools(request, allowed)
  if (session.settings.narrowingFeedback !== 'inject') return { request: narrowed }
  return { request: provider.withSystemText(narrowed, narrowingText(preflight.removed)) }
}

/** A tool waits for the turn, and the turn would wait for the tool. */
export function refuseNested({ running, book }: TurnSession, view: RequestView): void {
  const tool = running.getStore()
  if (view.tools.length === 0 || tool === undefined || !tool.active || tool.book !== book) return
  throw new ReplayContractError(
    'a model call that offers tools was made inside a wrapped tool of the same session; each would wait for the other: ' +
      'use another session there, or leave the tools out',
    { outcome: 'blocked', decisions: [], blocked: [] },
  )
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
  if (settings.gate === 'strip_blocked') return { said: { text: remedy, id: randomUUID() } }
  throw new ReplayContractError(`the model was not asked (${reason}). ${remedy}`, decision)
}

function askOf(plan: Plan, provider: Provider, { request, view }: Asked): PreflightAsk {
  const tools = new Map<string, PreflightAsk['tools'][number]>()
  for (const { name, kind } of view.tools) tools.set(name, { name, kind })
  return {
    tools: [...tools.values()],
    provider: provider.name,
    model: view.model,
    request: plan.inputPaths.length === 0 ? {} : readInputValues(plan, writtenRequest(request)),
  }
}

/** What cannot be written cannot be sent either, and an empty request would pass rules about what it may not hold. */
function writtenRequest(request: Asked['request']): JsonValue {
  const written = writtenJson(request)
  if (written === undefined) throw new ReplayConfigError('the request cannot be written as JSON', null)
  return written
}

/** Before the next step, every allowed call gets an outcome. */
function settleEarlierCalls(session: TurnSession, view: RequestView): KnownOrPromised<void> {
  const { book, settings, deliver } = session
  const settle = (): KnownOrPromised<void> => {
    for (const call of book.allowed()) {
      const isWrapped = settings.tools?.has(call.toolName) ?? false
      const outcome = outcomeOf(call, isWrapped, view.answeredCallIds)
      if (outcome === 'succeeded') tellUnproven(session, call, isWrapped)
      book.resolve(call, reportedReceipt(call, outcome))
    }
    return deliver()
  }
  return book.isIdle() ? settle() : book.idle().then(settle)
}

/** Where the contract asks for more than the program's word, such a call never commits, and nothing would say why. */
function tellUnproven({ authority, notes }: TurnSession, { by, toolName }: OpenCall, isWrapped: boolean): void {
  const contract = authority().plan.contracts.get(toolName)
  if (by === 'server' && contract?.commitRequirement === 'executed') notes.unproven(toolName, isWrapped)
}

/**
 * A new result among the messages is the program's word that the tool ran. Without any, a wrapper that never started
 * is sure that it did not; for other tools nobody knows. Nor does anybody where the result may be that of an earlier
 * call with the same id.
 */
function outcomeOf({ callId, answeredBefore }: OpenCall, isWrapped: boolean, answeredIds: readonly string[]): Outcome {
  const answered = timesIn(answeredIds, callId)
  if (answered > answeredBefore) return 'succeeded'
  return answered === 0 && isWrapped ? 'not_executed' : 'unknown'
}
