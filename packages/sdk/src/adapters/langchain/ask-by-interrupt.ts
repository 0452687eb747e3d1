import { ReplayConfigError } from '../../base/errors.js'
import type { AskVerdict } from '../../session/core/verdicts.js'
import type { GovernedSession } from '../governed-session.js'

/** What a graph is interrupted with when a call needs a person. Resume with an `InterruptAnswer`. */
export interface InterruptQuestion {
  readonly type: 'countersign_approval'
  readonly tool: string
  readonly callId: string
  readonly arguments: AskVerdict['arguments']
  /** Why a person is asked, one for each checkpoint of the contract. */
  readonly reasons: readonly string[]
}

/** The person's answer: `new Command({ resume: { decision: 'approve', decidedBy: 'ann' } })`. */
export interface InterruptAnswer {
  readonly decision: 'approve' | 'deny'
  readonly decidedBy?: string
  readonly reason?: string
}

/** The question stays open: the graph can be resumed again. */
const noAnswer = (tool: string): ReplayConfigError =>
  new ReplayConfigError(
    `${tool} waits for a person: resume the graph with { decision: 'approve' } or { decision: 'deny' }, and decidedBy`,
    null,
  )

/**
 * Who approved a call that needs a person; null for one that needs none, or that was denied. The first time this throws
 * LangGraph's interrupt; when the graph is resumed the tool call starts over, and the answer is there.
 */
export async function askByInterrupt(
  session: GovernedSession,
  callId: string,
  interrupt: ((value: unknown) => unknown) | undefined,
): Promise<string | null> {
  const verdict = session.verdictOf(callId)
  if (verdict?.verdict !== 'ask' || interrupt === undefined) return null
  const question: InterruptQuestion = {
    type: 'countersign_approval',
    tool: verdict.toolName,
    callId,
    arguments: verdict.arguments,
    reasons: verdict.questions.map(({ reason }) => reason),
  }
  const given = interrupt(question) as Partial<InterruptAnswer> | null | undefined
  if (given?.decision !== 'approve' && given?.decision !== 'deny') throw noAnswer(verdict.toolName)
  const { decidedBy = 'user', reason } = given
  if (given.decision === 'approve') return decidedBy
  await session.answer(verdict.id, { decision: 'deny', decided_by: decidedBy, ...(reason !== undefined && { reason }) })
  return null
}
