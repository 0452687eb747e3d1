import { cardHashOf, isOpenAt } from '@countersign/engine'
import type { QuestionCard, SessionEvent } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { isoTime } from '../base/iso-time.js'
import { advance } from '../change/advance.js'
import { type ChangeResult, changeSession, type LoadedSession, NEEDS_LOCK } from '../change/change-session.js'
import type { Context } from '../context/context.js'
import { loadCard } from '../store/questions/cards.js'
import type { ChangedQuestion } from './people.js'

/** What a proposal would use was asked under other conditions: the questions change first. */
export class QuestionsChanged extends Error {
  override name = 'QuestionsChanged'
  readonly changed: readonly ChangedQuestion[]

  constructor(changed: readonly ChangedQuestion[]) {
    super('questions of the session have changed')
    this.changed = changed
  }
}

/** How often questions are put again before a proposal gives up: each time, a plan or a definition was changed meanwhile. */
const MOST_TRIES = 3

/** Runs what may use questions of a session, after those have changed that must. */
export async function withCurrentQuestions<Reply>(
  ctx: Context,
  sessionId: string,
  run: () => Promise<Reply>,
): Promise<Reply> {
  for (let tried = 1; ; tried++) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof QuestionsChanged)) throw error
      if (tried === MOST_TRIES) throw new ApiError('BUSY')
      for (const changed of error.changed) await renew(ctx, sessionId, changed)
    }
  }
}

/** Another definition of the tool withdraws its question; another plan in force puts it again, as another card. */
async function renew(
  ctx: Context,
  sessionId: string,
  { questionId, cause, approvedHash }: ChangedQuestion,
): Promise<void> {
  await changeSession<null>(
    ctx,
    sessionId,
    async (loaded) => {
      if (!loaded.locked) return NEEDS_LOCK
      if (cause === 'plan_changed')
        return (await putAgain(loaded, questionId, { cause, approvedHash })) ?? { reply: null }
      const { session } = loaded
      const body = { question_id: questionId, state: 'withdrawn', cause } as const
      const { head, events } = advance(loaded, [{ type: 'question_ended', at: isoTime(session.now), body }])
      return { change: { session, head, events }, reply: null }
    },
    { withoutPlan: true },
  )
}

/** The change that puts a question again. Null: it has ended, or its content is gone. */
export async function putAgain(
  loaded: LoadedSession,
  questionId: string,
  how: {
    readonly cause: 'plan_changed' | 'asked_again'
    readonly approvedHash?: string | null
  },
): Promise<Required<Extract<ChangeResult<null>, { reply: null }>> | null> {
  const { session, query } = loaded
  const { tenantId, hashSalt } = session.fixed
  const question = session.head.state.questions?.find(({ id }) => id === questionId)
  const card = await query((sql) => loadCard(sql, tenantId, questionId))
  if (question === undefined || !isOpenAt(question, session.now.getTime()) || card === null) return null
  // An approval may outlive the time to answer: then that begins anew, too.
  const beginsAnew = how.cause === 'asked_again' || Date.parse(card.expires_at) <= session.now.getTime()
  const next: QuestionCard = {
    ...(beginsAnew ? begunAt(session.now, card) : card),
    card_no: question.cardNo + 1,
    ...(how.approvedHash !== undefined && { approved_hash: how.approvedHash }),
  }
  const event: SessionEvent = {
    type: 'question_changed',
    at: isoTime(session.now),
    body: {
      question_id: questionId,
      card_no: next.card_no,
      card_hash: cardHashOf(hashSalt, next),
      cause: how.cause,
      needed: next.needed,
      expires_at: next.expires_at,
    },
  }
  const { head, events } = advance(loaded, [event])
  return { change: { session, head, events, questions: { card: { questionId, card: next } } }, reply: null }
}

/** The card with all of its times moved: who is asked when, and its end. */
function begunAt(now: Date, card: QuestionCard): QuestionCard {
  const began = Math.min(...card.eligible.flat().map(({ from }) => Date.parse(from)))
  const moved = (time: string) => new Date(Date.parse(time) + now.getTime() - began).toISOString()
  const eligible = card.eligible.map((oneOf) => oneOf.map((one) => ({ ...one, from: moved(one.from) })))
  return { ...card, eligible, expires_at: moved(card.expires_at) }
}
