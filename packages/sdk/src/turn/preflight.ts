import { randomUUID } from 'node:crypto'
import { readInputValues } from '@countersign/engine'
import type { JsonValue } from '@countersign/protocol'
import type { BlockedTurn, PreflightRequest } from '../authority/authority.js'
import { blockedDecision } from '../authority/blocked-decision.js'
import { ReplayConfigError, ReplayContractError } from '../base/errors.js'
import { writtenJson } from '../base/written-json.js'
import { enforcementOf, narrowingText } from '../session/core/gate.js'
import type { SessionContext } from '../session/core/session-context.js'
import { reportOf, type WaitsFor } from './earlier-calls.js'
import type { Asked } from './read-request.js'

/** Has the request prepared by the authority, and narrows it: what is sent then, or what is said in its place. */
export async function preflight(session: SessionContext, asked: Asked, waitsFor: WaitsFor): Promise<void> {
  const { request, view, trace, provider } = asked
  const asking = preflightOf(session, asked, waitsFor)
  const reply = await session.authority().prepare(asking)
  asked.stance = session.stance(reply.by)
  const isEnforced = asked.stance === 'enforce'
  if (reply.outcome === 'blocked') {
    trace.add('pre_check', 'block', { reason: reply.reason, found: reply.detail ?? null })
    if (isEnforced) return sayInstead(session, asked, reply)
    // Where nothing is enforced, a turn that would have been blocked goes on with all its tools.
    const allowed = asking.tools.map(({ name }) => name)
    asked.prepared = {
      ...{ outcome: 'prepared', by: 'local', preparedRequestId: 'unprepared' },
      ...{ request: asking, allowed, removed: [] },
    }
    return
  }
  asked.prepared = reply
  trace.add('pre_check', 'pass')
  trace.narrowed(reply.allowed, reply.removed)
  if (!isEnforced) return
  const { removed } = reply
  const allowed = new Set(reply.allowed)
  session.notes.narrowed(
    removed.length === 0 ? view.tools : view.tools.filter(({ name }) => allowed.has(name)),
    removed,
  )
  if (removed.length > 0) asked.sent = provider.withTools(request, allowed)
  const isInjected = removed.length > 0 && session.settings.narrowingFeedback === 'inject'
  const said = [
    ...(isInjected ? [narrowingText(removed)] : []),
    ...(view.tools.length > 0 ? await session.questions.news() : []),
  ]
  if (said.length > 0) asked.sent = provider.withSystemText(asked.sent, said.join('\n\n'))
}

function sayInstead({ settings, notes }: SessionContext, asked: Asked, blocked: BlockedTurn): void {
  const { reason, remedy, detail } = blocked
  const call = blockedDecision({ call_id: '', tool_name: '*' }, reason, remedy, detail)
  const decision = enforcementOf([call], settings.gate)
  notes.blocked(decision)
  if (settings.gate !== 'strip_blocked' && settings.gate !== 'answer') {
    throw new ReplayContractError(`the model was not called (${reason}). ${remedy}`, decision)
  }
  asked.said = { text: remedy, id: randomUUID(), reason }
}

function preflightOf(session: SessionContext, asked: Asked, waitsFor: WaitsFor): PreflightRequest {
  const { provider, view } = asked
  const { plan } = session.authority()
  const tools = new Map<string, PreflightRequest['tools'][number]>()
  for (const { name, kind } of view.tools) tools.set(name, { name, kind })
  return {
    tools: [...tools.values()],
    provider: provider.name,
    model: view.model,
    inputs: plan.inputPaths.length === 0 ? {} : readInputValues(plan, writtenRequest(asked)),
    reported: session.settings.shared === null ? undefined : reportOf(plan, asked, waitsFor),
  }
}

/** What cannot be written cannot be sent either, and an empty request would pass rules about what it may not hold. */
function writtenRequest({ request }: Asked): JsonValue {
  const written = writtenJson(request)
  if (written === undefined) throw new ReplayConfigError('the request cannot be written as JSON', null)
  return written
}
