import { isLive, type LedgerBody, type LedgerCall, type QuestionState } from '@countersign/protocol'

/** What a session remembers of a question to people: at most as many as it has triggers. */
export interface StateQuestion {
  readonly id: string
  readonly tool: string
  /** Of the arguments that were asked about. */
  readonly hash: string
  /** Those that asked, as in the card. */
  readonly rules: readonly string[]
  readonly cardNo: number
  readonly cardHash: string
  readonly state: QuestionState
  readonly needed: number
  /** Salted hashes of the members who said yes to this card. */
  readonly yes: readonly string[]
  /** While it waits, when it expires; once approved, until when the call may use it. */
  readonly until: string
  /** Of the arguments that a person set in place of the model's. */
  readonly editedHash?: string | undefined
}

export type Questions = readonly StateQuestion[]

/** A question whose time has passed has ended, whether or not an event says so. */
export const isOpenAt = ({ state, until }: Pick<StateQuestion, 'state' | 'until'>, atMs: number): boolean =>
  isLive(state) && Date.parse(until) >= atMs

/** The questions after a proposal: what it asks, and what its registered calls use up. */
export function questionsAfter(
  before: Questions | undefined,
  calls: readonly LedgerCall[],
  at: string,
): Questions | undefined {
  const asks = calls.some(({ question }) => question !== undefined)
  if (before === undefined && !asks) return undefined
  let next = lapsed(before ?? [], Date.parse(at))
  for (const { tool_name: tool, argument_hash: hash, question } of calls) {
    if (question?.step === 'asked') {
      const { question_id: id, rules, card_no: cardNo, card_hash: cardHash, needed } = question
      const asked = { id, tool, hash: hash ?? '', rules, cardNo, cardHash, needed, until: question.expires_at }
      next = [...next, { ...asked, state: 'waiting', yes: [] }]
    } else if (question?.step === 'used') next = withState(next, question.question_id, 'used')
  }
  return next
}

/** How many triggers of the session the calls take by what they ask people. */
export const triggersOf = (calls: readonly LedgerCall[]): number =>
  calls.reduce((sum, { question }) => sum + (question?.step === 'asked' ? question.triggers : 0), 0)

function lapsed(questions: Questions, atMs: number): Questions {
  if (questions.every((one) => !isLive(one.state) || isOpenAt(one, atMs))) return questions
  return questions.map((one) => (isLive(one.state) && !isOpenAt(one, atMs) ? { ...one, state: 'expired' } : one))
}

function withState(questions: Questions, id: string, state: QuestionState): Questions {
  return questions.map((one) => (one.id === id ? { ...one, state } : one))
}

/** An answer to the current card of a question that waits, or a no to one that is approved. */
export function withAnswer(questions: Questions, body: LedgerBody<'answered'>): Questions {
  return questions.map((one) => {
    if (one.id !== body.question_id || !isLive(one.state) || body.card_hash !== one.cardHash) return one
    if (body.decision === 'deny') return { ...one, state: 'denied' }
    if (one.state !== 'waiting' || one.yes.includes(body.member_hash)) return one
    const yes = [...one.yes, body.member_hash]
    const answered = { ...one, yes, ...(body.edited_hash !== undefined && { editedHash: body.edited_hash }) }
    return yes.length < one.needed
      ? answered
      : { ...answered, state: 'approved', until: body.usable_until ?? one.until }
  })
}

/** Another card: answers to the one before it are void. */
export function withNewCard(questions: Questions, body: LedgerBody<'question_changed'>): Questions {
  return questions.map((one) => {
    if (one.id !== body.question_id || !isLive(one.state)) return one
    const { card_no: cardNo, card_hash: cardHash, needed, expires_at: until } = body
    return { ...one, cardNo, cardHash, needed, until, state: 'waiting', yes: [], editedHash: undefined }
  })
}

export function withEnd(questions: Questions, { question_id: id, state }: LedgerBody<'question_ended'>): Questions {
  return questions.map((one) => (one.id === id && isLive(one.state) ? { ...one, state } : one))
}

/** A session that is stopped asks nobody any more, and no answer is used in it. */
export function withdrawn(questions: Questions | undefined): Questions | undefined {
  if (questions?.some(({ state }) => isLive(state)) !== true) return questions
  return questions.map((one) => (isLive(one.state) ? { ...one, state: 'withdrawn' } : one))
}
