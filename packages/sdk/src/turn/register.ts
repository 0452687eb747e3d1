import { checkExecution } from '@countersign/engine'
import type { Decision } from '@countersign/protocol'
import type { ProposalVerdict } from '../authority/authority.js'
import type { OpenCall } from '../authority/open-calls.js'
import { askForApproval, refusedDecision } from '../session/core/checkpoints.js'
import type { SessionContext } from '../session/core/session-context.js'
import type { Answer } from './read-answer.js'

/** The calls of an answer, by what becomes of them. */
export interface RegisteredCalls {
  readonly decisions: readonly Decision[]
  /** Registered and free to run. */
  readonly open: readonly OpenCall[]
  /** Registered, and a person is still to be asked. */
  readonly asking: readonly OpenCall[]
  /** Registered, and stopped since, by a person or a control: they must be resolved as not executed. */
  readonly stopped: readonly OpenCall[]
}

/** The calls that were allowed, and for which people must be asked, now or later. */
export async function register(
  session: SessionContext,
  calls: RegisteredCalls,
  asksLater: boolean,
): Promise<RegisteredCalls> {
  const { approver, settings } = session
  const isLater = asksLater && approver.onCheckpoint === undefined
  const answered = isLater ? askLater(calls) : await askPeople(calls, session)
  // Where no wrapper runs the tools, their constraints are checked before the program gets the calls.
  return settings.shared === null ? answered : withinConstraints(session, answered)
}

/** A verdict's calls. `ageMs` since they were sent to be judged: when the answer was written is unknown. */
export function allowedCalls(answer: Answer, verdict: ProposalVerdict, ageMs: () => number): RegisteredCalls {
  const open: OpenCall[] = []
  const stopped: OpenCall[] = []
  for (const decision of verdict.decisions) {
    const call = openCall(decision, answer, verdict, ageMs)
    if (call !== null) (decision.decision === 'block' ? stopped : open).push(call)
  }
  return { decisions: verdict.decisions, open, asking: [], stopped }
}

function openCall(
  decision: Decision,
  { read, asked, again }: Answer,
  { by }: ProposalVerdict,
  ageMs: () => number,
): OpenCall | null {
  const call = read.calls.find(({ index }) => index === decision.index)
  const args = call?.arguments ?? null
  if (decision.pending_call_id === null || args === null) return null
  return {
    callId: decision.call_id,
    toolName: decision.tool_name,
    arguments: args,
    proposed: again?.changed.get(decision.call_id) ?? undefined,
    takesText: call?.kind === 'custom',
    decision,
    pendingCallId: decision.pending_call_id,
    argumentHash: decision.argument_hash ?? '',
    by,
    ageMs,
    approvals: [],
    answeredBefore: timesIn(asked.view.answeredCallIds, decision.call_id),
    state: 'allowed',
    refused: false,
  }
}

export const timesIn = (ids: readonly string[], id: string): number => ids.filter((other) => other === id).length

const needsPerson = ({ decision }: OpenCall): boolean => decision.checkpoint_required

function askLater(calls: RegisteredCalls): RegisteredCalls {
  const asking = calls.open.filter(needsPerson)
  for (const call of asking) call.state = 'asking'
  return { ...calls, open: calls.open.filter((call) => !needsPerson(call)), asking }
}

async function askPeople(calls: RegisteredCalls, { approver, authority }: SessionContext): Promise<RegisteredCalls> {
  const asking = calls.open.filter(needsPerson)
  if (asking.length === 0) return calls
  const { plan } = authority()
  const refused = new Map<OpenCall, Decision>()
  await Promise.all(
    asking.map(async (call) => {
      const result = await askForApproval(call, approver)
      call.approvals = result.approvals
      if (result.refused !== null) refused.set(call, refusedDecision(call.decision, result.refused, plan))
    }),
  )
  return withStopped(calls, refused)
}

function withinConstraints({ authority }: SessionContext, calls: RegisteredCalls): RegisteredCalls {
  const { plan } = authority()
  const violating = new Map<OpenCall, Decision>()
  for (const call of calls.open) {
    const violated = checkExecution(plan, call.toolName, call.arguments)
    if (violated === null) continue
    const { reason, remedy, failures } = violated
    violating.set(call, { ...call.decision, decision: 'block', reason, reasons: [violated], remedy, failures })
  }
  return withStopped(calls, violating)
}

/** Open calls that are blocked after all, each by its new decision. */
function withStopped(calls: RegisteredCalls, blocked: ReadonlyMap<OpenCall, Decision>): RegisteredCalls {
  if (blocked.size === 0) return calls
  const changed = new Map([...blocked].map(([call, decision]) => [call.decision, decision]))
  return {
    ...calls,
    decisions: calls.decisions.map((decision) => changed.get(decision) ?? decision),
    open: calls.open.filter((call) => !blocked.has(call)),
    stopped: [...calls.stopped, ...[...blocked].map(([call, decision]) => ({ ...call, decision }))],
  }
}
