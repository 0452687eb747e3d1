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

/** What a graph is interrupted with when people are asked about a call. Resume it with anything once they have answered. */
export interface InterruptOfPeople {
  readonly type: 'countersign_question'
  readonly question: string
  /** The page on which people answer. */
  readonly url: string | null
  readonly tool: string
  readonly callId: string
  /** Until when they can, as ISO 8601. */
  readonly expiresAt: string
}

type Interrupt = (value: unknown) => unknown

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
  call: Parameters<GovernedSession['proposeAgain']>[0],
  interrupt: Interrupt | undefined,
): Promise<string | null> {
  if (interrupt === undefined) return null
  const known = session.verdictOf(call.callId)
  if (known === null || (known.verdict === 'ask' && known.asks === 'people')) {
    if (await waitForPeople(session, call, interrupt)) return null
  }
  // The program may have asked in another process.
  const verdict = known ?? (await session.proposeAgain(call))
  return verdict?.verdict === 'ask' ? askProgram(session, verdict, interrupt) : null
}

/**
 * False where people were asked nothing. What the graph was resumed with means "look again": the answer is the
 * service's. Still waiting, it is interrupted again.
 */
async function waitForPeople(
  session: GovernedSession,
  { callId, tool }: { readonly callId: string; readonly tool: string },
  interrupt: Interrupt,
): Promise<boolean> {
  for (;;) {
    const question = await session.questionOf(callId, tool)
    if (question?.state !== 'waiting') return question !== null
    const { questionId, url, expiresAt } = question
    const shown: InterruptOfPeople = {
      type: 'countersign_question',
      question: questionId,
      url,
      tool,
      callId,
      expiresAt,
    }
    interrupt(shown)
  }
}

async function askProgram(session: GovernedSession, verdict: AskVerdict, interrupt: Interrupt): Promise<string | null> {
  const question: InterruptQuestion = {
    type: 'countersign_approval',
    tool: verdict.toolName,
    callId: verdict.callId,
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
