import type { QuestionCause, QuestionDetail, QuestionRow, QuestionState } from '@countersign/protocol'
import type { Tone } from '../../components/basic/badge.js'

type QuestionAnswer = QuestionDetail['answers'][number]

export const STATES: Readonly<Record<QuestionState, { readonly word: string; readonly tone: Tone }>> = {
  waiting: { word: 'Waiting', tone: 'accent' },
  approved: { word: 'Approved', tone: 'allow' },
  used: { word: 'Used', tone: 'allow' },
  denied: { word: 'Denied', tone: 'block' },
  expired: { word: 'Expired', tone: 'neutral' },
  withdrawn: { word: 'Withdrawn', tone: 'neutral' },
}

/** Why a question was withdrawn, after "because". */
export const CAUSES: Readonly<Record<QuestionCause, string>> = {
  denied: 'a person denied it',
  time: 'its time was over',
  killed: 'the session was killed',
  bypass: 'the session was compromised: its wrapped client was bypassed',
  erased: 'the content of the session was erased',
  holder: 'the program does not want the call any more',
  definition_changed: 'the definition of the tool has changed',
  plan_changed: 'a newly approved plan blocks the call',
}

/** What became of a question that was decided or has ended. */
export function outcomeWords({ state, cause, usable_until }: QuestionRow): string {
  if (state === 'approved') return 'The call may run once. It runs when the agent proposes it again.'
  if (state === 'used')
    return 'The agent proposed the call again, and it was allowed. This approval cannot be used again.'
  if (state === 'denied') return 'The call did not run, and is blocked in this session.'
  if (state === 'expired') {
    return usable_until === null
      ? 'No decision came in time, so the call did not run. The agent may ask again.'
      : 'It was approved, but the agent did not propose the call again in time, so it did not run.'
  }
  return `The call did not run: the question was withdrawn because ${CAUSES[cause ?? 'holder']}.`
}

/** For whom the session acts, and how that is known. */
export function requesterNote({ requester, principal_proof }: QuestionRow): string | null {
  if (principal_proof === null) return null
  if (principal_proof === 'no_person') return 'no person, as its key says'
  const known = principal_proof === 'proven' ? 'proven by a token' : 'as its program told'
  return requester === null ? `no member, ${known}` : known
}

/** What a person said, before "by". */
export function decisionWords({ decision, relation, edited }: QuestionAnswer): string {
  if (decision === 'deny') return 'Denied'
  const word = relation === 'self' ? 'Own request confirmed' : 'Approved'
  return edited === null ? word : `${word} with changes`
}
