import { equalValues, type ReadResponse } from '@countersign/engine'
import {
  type ApprovalRequest,
  type BlockReason,
  type Decision,
  type JsonObject,
  type JsonValue,
  LIMITS,
} from '@countersign/protocol'
import type { OpenCall } from '../../authority/open-calls.js'
import { boundedMap } from '../../base/bounded-map.js'
import { deepFreeze } from '../../base/deep-freeze.js'
import { jsonOf } from '../../base/written-json.js'
import type { ToolInvocation } from '../../options/replay-options.js'
import { type Approver, questionsOf } from './checkpoints.js'
import { explainToModel, isAsked, isBlocked } from './gate.js'

/** What was decided about one call. */
export type CallVerdict = AllowVerdict | BlockVerdict | AskVerdict

/** The call may run, once and with these arguments. */
export interface AllowVerdict extends JudgedCall {
  /** Run it. */
  readonly verdict: 'allow'
}

/** The call must not run. */
export interface BlockVerdict extends JudgedCall {
  /** Do not run it. */
  readonly verdict: 'block'
  /** The rule that blocks it. */
  readonly reason: BlockReason
  /** What to do instead. */
  readonly remedy: string
  /** What the model is told in place of the tool's result. Details of a policy are not in it. */
  readonly result: string
}

/** The call may run once a person has approved it. */
export interface AskVerdict extends JudgedCall {
  /** A person has to approve it. */
  readonly verdict: 'ask'
  /**
   * Who asks that person: the program, which answers with `session.answer`; or the server, whose answer
   * `session.resume` uses, in this process or another.
   */
  readonly asks: 'program' | 'people'
  /** Names the question. */
  readonly id: string
  /** One for each checkpoint that the call triggered, where the program asks. */
  readonly questions: readonly ApprovalRequest[]
  /** The page on which people answer, where the server asks. */
  readonly url: string | null
  /** The person whom the session acts for may answer, where the server asks. */
  readonly confirms: boolean
  /** What the model is told in place of the tool's result. */
  readonly result: string
}

interface JudgedCall {
  /** The id that the model gave the call. */
  readonly callId: string
  /** The name of the tool. */
  readonly toolName: string
  /** As they were judged; null if they could not be read. */
  readonly arguments: JsonObject | null
  /** Everything that was decided about the call; null where nothing is judged. */
  readonly decision: Decision | null
}

/** An answer of the model once it was judged. */
export interface DecidedAnswer {
  readonly response: ReadResponse
  readonly decisions: readonly Decision[]
  readonly asking: readonly OpenCall[]
  /** Of a question to people. */
  readonly urlOf: (questionId: string) => string | null
  /** The person whom the session acts for may answer what a tool's rules ask. */
  readonly confirms: (toolName: string) => boolean
  /** False where verdicts have no consequence: then every call may run. */
  readonly isEnforced: boolean
}

/** The verdicts of a session's latest answers, by which their calls run. */
export interface Verdicts {
  /** Takes in an answer, and gives the verdicts of its calls in their order. */
  take(answer: DecidedAnswer, approver: Approver): readonly CallVerdict[]
  /** A person has answered, or the call was stopped since. */
  change(verdict: CallVerdict): void
  of(callId: string): CallVerdict | null
  /** The call that a program means: the one with this id, or one of the latest answer with this name and arguments. */
  meant(call: Pick<ToolInvocation, 'callId' | 'args'> & { readonly tool: string }): CallVerdict | null
  /** A call of the latest answer with these arguments that may not run, or not yet. */
  refused(isMeant: (toolName: string, callId: string) => boolean, args: JsonValue): CallVerdict | null
}

/** Twice the calls of the largest answer: a verdict holds the arguments, which may be large. */
const REMEMBERED = 2 * LIMITS.callsPerProposal

export function createVerdicts(): Verdicts {
  const known = boundedMap<string, CallVerdict>(REMEMBERED)
  let latest: readonly CallVerdict[] = []
  return {
    take(answer, approver) {
      latest = deepFreeze(verdictsOf(answer, approver))
      for (const verdict of latest) known.set(verdict.callId, verdict)
      return latest
    },
    change(changed) {
      const verdict = deepFreeze(changed)
      known.set(verdict.callId, verdict)
      latest = latest.map((one) => (one.callId === verdict.callId ? verdict : one))
    },
    of: (callId) => known.get(callId) ?? null,
    refused: (isMeant, args) =>
      latest.find((one) => isRefused(one) && isMeant(one.toolName, one.callId) && equalValues(one.arguments, args)) ??
      null,
    meant({ tool, args, callId }) {
      if (callId !== null) {
        const verdict = known.get(callId)
        return verdict?.toolName === tool ? verdict : null
      }
      const given = jsonOf(args === undefined ? {} : args)
      if (given === undefined) return null
      return latest.find((one) => one.toolName === tool && equalValues(one.arguments, given)) ?? null
    },
  }
}

/** What people are asked about a call is judged anew whenever it is made: they may have answered. */
const isRefused = (verdict: CallVerdict): boolean =>
  verdict.verdict === 'block' || (verdict.verdict === 'ask' && verdict.asks === 'program')

function verdictsOf(answer: DecidedAnswer, approver: Approver): CallVerdict[] {
  const { response, decisions, isEnforced } = answer
  const decided = new Map(decisions.map((decision) => [decision.index, decision]))
  if (!isEnforced) return response.calls.map((call) => allowed(call, decided.get(call.index) ?? null))
  return decisions.map((decision) => {
    const call = response.calls.find(({ index }) => index === decision.index)
    const args = call?.arguments ?? null
    if (isAsked(decision)) return parkedVerdict(decision, args, answer)
    if (isBlocked(decision)) return blockVerdict(decision, args)
    const asking = answer.asking.find((one) => one.decision === decision)
    const judged = { id: decision.call_id, name: decision.tool_name, arguments: args }
    return asking === undefined ? allowed(judged, decision) : askVerdict(asking, approver)
  })
}

function allowed(
  call: { readonly id: string; readonly name: string; readonly arguments: JsonObject | null },
  decision: Decision | null,
): AllowVerdict {
  return { verdict: 'allow', callId: call.id, toolName: call.name, arguments: call.arguments, decision }
}

export const allowVerdict = ({ callId, toolName, arguments: args, decision }: OpenCall): AllowVerdict =>
  allowed({ id: callId, name: toolName, arguments: args }, decision)

export function blockVerdict(decision: Decision, args: JsonObject | null): BlockVerdict {
  const { call_id, tool_name, reason, remedy } = decision
  return {
    verdict: 'block',
    callId: call_id,
    toolName: tool_name,
    arguments: args,
    decision,
    reason: reason ?? 'execution_constraint_violated',
    remedy: remedy ?? '',
    result: explainToModel([decision]),
  }
}

function askVerdict(call: OpenCall, approver: Approver): AskVerdict {
  const { callId, toolName, arguments: args, decision, pendingCallId } = call
  const questions = questionsOf(call, approver)
  const asked = { callId, toolName, arguments: args, decision, id: pendingCallId, questions }
  return { verdict: 'ask', asks: 'program', ...asked, url: null, confirms: false, result: NOT_APPROVED_YET }
}

export const NOT_APPROVED_YET = 'The call needs the approval of a person, and is not approved yet.'

function parkedVerdict(
  decision: Decision,
  args: JsonObject | null,
  { urlOf, confirms }: Pick<DecidedAnswer, 'urlOf' | 'confirms'>,
): AskVerdict {
  const { call_id: callId, tool_name: toolName, question } = decision
  const id = question?.question_id ?? ''
  const about = { callId, toolName, arguments: args, decision, id, questions: [] }
  const result = explainToModel([decision])
  return { verdict: 'ask', asks: 'people', ...about, url: urlOf(id), confirms: confirms(toolName), result }
}
