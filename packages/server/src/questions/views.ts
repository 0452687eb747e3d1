import type { QuestionDetail, QuestionRow, SessionQuestion } from '@countersign/protocol'
import type { Services } from '../context/context.js'
import type { StoredAnswer, StoredQuestion } from '../store/questions/questions.js'

/** A question as lists of the dashboard show it. */
export const questionRow = (question: StoredQuestion): QuestionRow => ({
  question_id: question.questionId,
  session_id: question.sessionId,
  agent: question.agent,
  environment: question.environment,
  tool_name: question.toolName,
  rule: question.rule,
  reason: question.reason ?? '',
  requester: question.requesterName,
  principal_proof: question.principalProof,
  state: question.state,
  cause: question.cause,
  card_no: question.cardNo,
  have: question.have,
  needed: question.needed,
  mine: question.mine,
  asked_at: question.askedAt.toISOString(),
  expires_at: question.expiresAt.toISOString(),
  usable_until: question.usableUntil?.toISOString() ?? null,
  decided_at: question.decidedAt?.toISOString() ?? null,
  delivered: question.delivered,
})

/** What a notice is about, without what makes it the only one of its kind. */
export const kindOf = (kind: string): NoticeKind => kind.split('-')[0] as NoticeKind

export type NoticeKind = QuestionDetail['deliveries'][number]['kind']

/** The page of a question; null: of all. */
export const questionUrl = ({ publicUrl }: Pick<Services, 'publicUrl'>, questionId: string | null): string =>
  `${publicUrl().replace(/\/$/, '')}/questions${questionId === null ? '' : `/${questionId}`}`

/** A question as the program of its session sees it. `answers`: to it, oldest first. */
export function sessionQuestion(
  app: Services,
  question: StoredQuestion,
  { answers, args }: { readonly answers: readonly StoredAnswer[]; readonly args: SessionQuestion['arguments'] },
): SessionQuestion {
  const ofCard = answers.filter(({ cardNo }) => cardNo === question.cardNo)
  const isDecided = question.state === 'approved' || question.state === 'used' || question.state === 'denied'
  const last = ofCard.findLast(({ decision }) => (question.state === 'denied') === (decision === 'deny'))
  const edited = question.editedHash === null ? undefined : ofCard.findLast(({ edited: made }) => made !== null)?.edited
  return {
    question_id: question.questionId,
    proposal_id: question.proposalId,
    call_id: question.callId,
    tool_name: question.toolName,
    state: question.state,
    cause: question.cause,
    argument_hash: question.argumentHash,
    have: question.have,
    needed: question.needed,
    asked_at: question.askedAt.toISOString(),
    expires_at: question.expiresAt.toISOString(),
    usable_until: question.usableUntil?.toISOString() ?? null,
    url: questionUrl(app, question.questionId),
    delivered: question.delivered,
    arguments: isDecided ? (edited ?? args) : null,
    edited_hash: question.editedHash,
    asked_arguments: isDecided && edited !== undefined ? args : null,
    note: isDecided ? (last?.note ?? null) : null,
    pending_call_id: question.pendingCallId,
  }
}
