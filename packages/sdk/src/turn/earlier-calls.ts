import { type Plan, parseStrictJson, saltedHash } from '@countersign/engine'
import type { JsonValue, Outcome, Receipt } from '@countersign/protocol'
import type { PreflightRequest } from '../authority/authority.js'
import type { OpenCall } from '../authority/open-calls.js'
import { type RunCall, reportedReceipt, settledReceipt } from '../authority/receipts.js'
import { CallsWaitingError } from '../base/errors.js'
import type { MessageView } from '../providers/provider.js'
import type { SessionContext } from '../session/core/session-context.js'
import type { Asked } from './read-request.js'
import { timesIn } from './register.js'

/** Calls that a turn may not settle, by id: of another entry point of the session, in this process or another. */
export type WaitsFor = (callId: string) => boolean

/** A turn that came beside another lets the program run the calls of that one first. */
export const GRACE_MS = 2_000

/** Before the next step, every allowed call gets an outcome, and the authority that decided hears of it. */
export async function settleEarlier(session: SessionContext, asked: Asked): Promise<void> {
  if (session.settings.shared === null) settleByRequest(session, asked)
  else settleByHistory(session, asked)
  await session.deliver()
}

/** Wrapped tools that run leave the strongest evidence: the next step waits for them. */
export async function waitForEarlier(session: SessionContext, waitsFor: WaitsFor): Promise<void> {
  const { calls, notes, assertUsable } = session
  if (!calls.isIdle()) {
    await calls.whenIdle({ onLongWait: notes.toolWaits })
    assertUsable()
  }
  await waitForOthers(session, waitsFor)
}

/** Calls opened through another entry point are settled by that entry point. */
async function waitForOthers({ calls }: SessionContext, waitsFor: WaitsFor): Promise<void> {
  const others = (): boolean => [...calls.allowed(), ...calls.asking()].some(({ callId }) => waitsFor(callId))
  if (!others()) return
  await calls.whenResolved(GRACE_MS)
  if (others()) throw waitsForOthers()
}

/** Settling them here would take away what a model was allowed, and what the next request says of it. */
const waitsForOthers = (): CallsWaitingError =>
  new CallsWaitingError(
    "calls of the model's latest answer in this session have no outcome yet: make those first, with the tool and the " +
      'arguments that the model gave, or send the model their results',
  )

function settleByRequest(session: SessionContext, { view }: Asked): void {
  const { calls, settings, notes } = session
  cancelled(session)
  const notRun = [...calls.asking()]
  for (const call of calls.allowed()) {
    const isWrapped = settings.tools?.has(call.toolName) ?? false
    const answered = timesIn(view.answeredCallIds, call.callId)
    const outcome = isWrapped ? outcomeNotRun(answered) : outcomeReported(call, answered)
    if (outcome === 'not_executed') {
      notRun.push(call)
      continue
    }
    if (answered > call.answeredBefore) noteUnproven(session, call, isWrapped)
    calls.resolve(call, reportedReceipt(call, outcome))
  }
  for (const call of notRun) calls.giveUp(call, reportedReceipt(call, 'not_executed'))
  if (notRun.length > 0 && session.mayBlock()) notes.gaveUp(notRun)
}

/** A turn in between: the conversation went on without the person's answer. */
function cancelled({ calls, approver }: Pick<SessionContext, 'calls' | 'approver'>): void {
  for (const { decision, toolName: tool_name } of calls.asking()) {
    for (const { checkpoint_id } of decision.checkpoints) {
      const about = { session_id: approver.sessionId, checkpoint_id, tool_name }
      approver.report({ type: 'checkpoint_resolved', ...about, decision: 'cancelled' })
    }
  }
}

/**
 * The wrapper never started. What answers the call all the same may be the text of an error, or the result of the
 * program's own run of the tool: then the outcome is unknown and opens nothing.
 */
const outcomeNotRun = (answered: number): Outcome => (answered === 0 ? 'not_executed' : 'unknown')

/** A new result is the program's report that the tool ran; one may also be that of an earlier call with the same id. */
const outcomeReported = ({ answeredBefore }: OpenCall, answered: number): Outcome =>
  answered > answeredBefore ? 'succeeded' : 'unknown'

/** Such a call opens nothing, and nothing else would say why. */
function noteUnproven({ notes }: SessionContext, { decision, toolName }: OpenCall, isWrapped: boolean): void {
  if (isWrapped || decision.commit_requirement === 'executed') notes.unproven(toolName, isWrapped)
}

/** A gateway runs no tool: what became of one stands in the conversation, with its result. */
function settleByHistory({ calls, authority, notes, approver }: SessionContext, { provider, request }: Asked): void {
  cancelled({ calls, approver })
  // Only calls that the gateway itself runs wait for a person.
  for (const call of calls.asking()) calls.resolve(call, reportedReceipt(call, 'not_executed'))
  if (calls.allowed().length === 0) return
  const receiptFor = readResults(provider.readMessages(request))
  for (const call of calls.allowed()) {
    const receipt = call.refused
      ? reportedReceipt(call, 'unknown')
      : receiptFor(call, call.callId, authority().saltOf(call.by))
    if (receipt.outcome === 'succeeded' && call.decision.commit_requirement === 'executed') {
      notes.unproven(call.toolName, false)
    }
    calls.resolve(call, receipt)
  }
}

/** The same for a call that another process has proposed. */
export function reportOf(
  plan: Plan,
  { provider, request }: Asked,
  waitsFor: WaitsFor,
): NonNullable<PreflightRequest['reported']> {
  return (call, salt) => {
    if (waitsFor(call.call_id)) throw waitsForOthers()
    const made = {
      pendingCallId: call.pending_call_id,
      argumentHash: call.argument_hash,
      approvals: [],
      decision: { output_paths: [...(plan.contracts.get(call.tool_name)?.outputPaths ?? [])] },
    }
    return readResults(provider.readMessages(request))(made, call.call_id, salt)
  }
}

interface Said {
  readonly at: number
  readonly message: MessageView
}

/** What a conversation says of the calls that its program ran by itself, with the values that contracts read. */
function readResults(messages: readonly MessageView[]): (call: RunCall, callId: string, salt: string) => Receipt {
  const results = new Map<string, Said>()
  const calls = new Map<string, { readonly at: number; readonly args: unknown }>()
  messages.forEach((message, at) => {
    if (message.callId !== null) results.set(message.callId, { at, message })
    for (const call of message.calls) calls.set(call.id, { at, args: call.arguments })
  })
  return (call, callId, salt) => {
    const result = results.get(callId)
    const made = calls.get(callId)
    if (result === undefined || (made !== undefined && result.at < made.at)) return reportedReceipt(call, 'unknown')
    // Some providers use ids again: a result belongs to this call only if the arguments are the judged ones.
    if (made !== undefined && !isSame(made.args, call.argumentHash, salt)) return reportedReceipt(call, 'unknown')
    const { text, isError } = result.message
    return isError ? reportedReceipt(call, 'failed') : settledReceipt(call, 'succeeded', text, salt)
  }
}

function isSame(args: unknown, argumentHash: string, salt: string): boolean {
  try {
    const value = typeof args === 'string' ? readArguments(args) : (args as JsonValue)
    return value !== undefined && saltedHash(salt, value) === argumentHash
  } catch {
    return false
  }
}

function readArguments(text: string): JsonValue | undefined {
  const parsed = parseStrictJson(text.trim() === '' ? '{}' : text)
  return parsed.ok ? parsed.value : undefined
}
