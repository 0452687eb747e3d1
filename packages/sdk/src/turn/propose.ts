import { checkStrictValue, type ReadResponse, readResponse } from '@countersign/engine'
import type { ProposalCapture } from '@countersign/protocol'
import type { PreparedTurn, ProposalRequest, ProposalVerdict } from '../authority/authority.js'
import { blockedDecision } from '../authority/blocked-decision.js'
import { ServiceRefusal } from '../authority/transport.js'
import { ReplayContractError } from '../base/errors.js'
import { writtenJson } from '../base/written-json.js'
import { messagesOf } from '../observe/capture-item.js'
import type { SessionGate } from '../options/replay-options.js'
import { proposedAs } from '../session/core/gate.js'
import type { SessionContext } from '../session/core/session-context.js'
import { type Answer, type Fault, faultOf, findableIds } from './read-answer.js'

/** Has an answer judged. */
export async function propose(session: SessionContext, answer: Answer): Promise<ProposalVerdict> {
  const { prepared } = answer.asked
  if (prepared === null) throw new Error('an answer is judged whose request was not prepared')
  const { gate } = session.settings
  try {
    return await proposeOnce(session, answer, prepared, gate)
  } catch (error) {
    // The session moved on beside a turn that calls nothing, such as a summary: only its cost is left to count.
    if (answer.read.calls.length > 0 || faultOf(answer) !== null || !isStale(error)) throw error
    const again = await session.authority().prepare(prepared.request)
    if (again.outcome === 'blocked') return { by: again.by, outcome: 'no_calls', decisions: [] }
    return proposeOnce(session, answer, again, gate)
  }
}

const isStale = (error: unknown): boolean =>
  error instanceof ReplayContractError &&
  error.cause instanceof ServiceRefusal &&
  error.cause.code === 'PREPARED_REQUEST_STALE'

export function proposeOnce(
  session: SessionContext,
  answer: Answer,
  prepared: PreparedTurn,
  gate: SessionGate,
): Promise<ProposalVerdict> {
  const fault = faultOf(answer)
  if (fault !== null) return rejectAnswer(session, answer, prepared, fault)
  const { asked, came, read, flows } = answer
  const isShared = session.settings.shared !== null
  const { again } = answer
  return session.authority().judge({
    ...{ prepared, response: again === null ? came.response : callsOf(read), read, gate: proposedAs(gate), flows },
    capture: prepared.by === 'server' ? captureOf(session, answer) : undefined,
    findBy: isShared ? findableIds(asked.provider, came, read) : undefined,
    runs: asked.runs,
    redeems: again?.redeems,
  })
}

/** What the model said and used was counted when it was proposed first. */
const callsOf = ({ content, finishReason, calls }: ReadResponse) => ({
  content,
  finish_reason: finishReason,
  tool_calls: calls.map(({ id, name, arguments: args, argumentsText }) => ({
    id,
    name,
    arguments: args ?? argumentsText,
  })),
})

/** Blocks every call of an answer; one that shows none stands for a call without a name. Its cost counts. */
async function rejectAnswer(
  session: SessionContext,
  { read }: Answer,
  prepared: PreparedTurn,
  fault: Fault,
): Promise<ProposalVerdict> {
  const { by } = await session.authority().judge(costOnly(prepared, read, session.settings.gate))
  const calls = read.calls.length > 0 ? read.calls : [{ id: '', name: '', index: 0 }]
  const decisions = calls.map(({ id, name, index }) =>
    blockedDecision({ call_id: id, tool_name: name, index }, 'response_format_invalid', fault.remedy, fault.detail),
  )
  return { by, outcome: 'blocked', decisions }
}

/** A proposal of no calls, for what the model has used and the provider has run. */
export function costOnly(
  prepared: PreparedTurn,
  { model, usage, providerRun }: ReadResponse,
  gate: SessionGate,
): ProposalRequest {
  const response = {
    tool_calls: [],
    provider_run: providerRun,
    ...(model !== null && { model }),
    ...(usage !== null && { usage }),
  }
  return { prepared, response, read: readResponse(response), gate: proposedAs(gate), flows: undefined, capture: 'none' }
}

/** The server captures what it decides. It has the response; the messages it must be given. */
function captureOf({ settings }: SessionContext, { asked, again }: Answer): ProposalCapture | undefined {
  const { captureDisabled, captureLevel } = settings
  if (captureDisabled || again !== null) return 'none'
  if (captureLevel !== 'full') return undefined
  const messages = writtenJson(messagesOf(asked.sent))
  return Array.isArray(messages) && checkStrictValue(messages) === null ? { messages } : undefined
}
