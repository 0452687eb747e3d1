import { isOpenAt, type StateQuestion } from '@countersign/engine'
import { isLive } from '@countersign/protocol'
import type { StoredAnswer } from '../store/questions/questions.js'

type Answered = readonly Pick<StoredAnswer, 'decision' | 'memberName' | 'at'>[]

/** Why a question takes no answer any more, in words; null while it does. */
export function whyClosed(question: StateQuestion, now: Date, answers: Answered = []): string | null {
  if (isOpenAt(question, now.getTime())) return null
  if (isLive(question.state) || question.state === 'expired') return `it expired at ${question.until}`
  if (question.state === 'denied') return decidedBy(answers.filter(({ decision }) => decision === 'deny'))
  return question.state === 'used' ? 'its approval has been used' : 'it was withdrawn'
}

export function decidedBy(answers: Answered): string {
  const last = answers.at(-1)
  if (last === undefined) return 'it has been decided'
  const what = last.decision === 'approve' ? 'approved' : 'denied'
  return `${last.memberName ?? 'a member'} ${what} it at ${last.at.toISOString()}`
}
