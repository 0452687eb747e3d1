import { editProblem, evaluateProposal, type People, readResponse, type SessionState } from '@countersign/engine'
import type { Decision, JsonObject, QuestionCard } from '@countersign/protocol'
import type { LoadedSession } from '../change/change-session.js'
import { listFlows } from '../store/questions/cards.js'

interface TriedEdit {
  readonly card: QuestionCard
  /** What the model calls the call. */
  readonly callId: string
  readonly edited: JsonObject
  /** The session once the question is approved, as asked and as edited. */
  readonly asAsked: SessionState
  readonly asEdited: SessionState
}

/**
 * Why a member may not approve the changed call: the card does not allow the change, or the plan says something against
 * it that it does not say against the call as asked. Null: they may. What else blocks is judged when the call runs.
 */
export async function whyNoEdit(loaded: LoadedSession, tried: TriedEdit): Promise<string | null> {
  const { card, callId, edited, asAsked, asEdited } = tried
  const problem = editProblem(card, edited)
  if (problem !== null) return problem
  const { tenantId } = loaded.session.fixed
  const flows = await loaded.query((sql) => listFlows(sql, tenantId, [card.question_id]))
  const people: People = {
    tenantId,
    environment: card.environment,
    approvedHash: card.approved_hash,
    runsJudged: true,
    questionId: () => card.question_id,
    canAnswer: () => false,
    definitionHash: () => card.definition_hash,
    noteOf: () => null,
    redeems: new Map([[callId, card.question_id]]),
    flows,
  }
  const judged = (state: SessionState, args: JsonObject) =>
    judgeCall(loaded, { state, people, call: { id: callId, name: card.tool_name, arguments: args } })
  const before = new Set(judged(asAsked, card.arguments)?.reasons.map(({ reason }) => reason))
  const decision = judged(asEdited, edited)
  const broken = decision?.reasons.filter(({ reason }) => !before.has(reason)) ?? []
  if (broken.some(({ detail }) => detail === 'not_asked'))
    return 'the changed call asks for more than the call as asked'
  return broken.length === 0
    ? null
    : `the changed call would be blocked: ${broken.map(({ remedy }) => remedy).join(' ')}`
}

interface TriedCall {
  readonly state: SessionState
  readonly people: People
  readonly call: { readonly id: string; readonly name: string; readonly arguments: JsonObject }
}

function judgeCall({ session, plan }: LoadedSession, { state, people, call }: TriedCall): Decision | undefined {
  const { fixed, now } = session
  const { decisions } = evaluateProposal({
    plan,
    state,
    response: readResponse({ tool_calls: [{ ...call, arguments: JSON.stringify(call.arguments) }] }),
    gate: 'reject_all',
    unmatchedPolicy: fixed.unmatchedPolicy,
    principal: fixed.principal,
    agent: state.agent,
    salt: fixed.hashSalt,
    nowMs: now.getTime(),
    offered: null,
    toolless: false,
    people,
    ids: { sessionId: fixed.sessionId, proposalId: 'trial', pendingCallId: String },
  })
  return decisions[0]
}
