import { cardHashOf, type StateQuestion, saltedHash, usableUntil } from '@countersign/engine'
import {
  type AnswerBody,
  ERRORS,
  type Input,
  type JsonObject,
  type LedgerBody,
  type QuestionCard,
  type QuestionDetail,
  type QuestionState,
  type Reply,
  type Routes,
} from '@countersign/protocol'
import { requireToken } from '../accounts/limits.js'
import { ApiError } from '../base/api-error.js'
import { isoTime } from '../base/iso-time.js'
import { advance } from '../change/advance.js'
import { type ChangeResult, changeSession, type LoadedSession, NEEDS_LOCK } from '../change/change-session.js'
import { auditEntry } from '../context/audit.js'
import type { UserContext } from '../context/context.js'
import { inFind } from '../context/work.js'
import { loadCard } from '../store/questions/cards.js'
import { NotEligible } from '../store/questions/question-changes.js'
import { findQuestion, listAnswers, loadSurroundings, type StoredQuestion } from '../store/questions/questions.js'
import { questionDetail, whyNot } from './question-detail.js'
import { putAgain } from './renew-questions.js'
import { whyNoEdit } from './try-edit.js'
import { decidedBy, whyClosed } from './why-closed.js'

/** A member answers. Who may is decided where the answer is written. The same answer again is the same answer. */
export async function answerQuestion(
  ctx: UserContext,
  { params, body }: Input<Routes['answerQuestion']>,
): Promise<Reply<Routes['answerQuestion']>> {
  await requireToken(ctx, 'answers', `${ctx.tenant.tenantId} ${ctx.signIn.userId}`)
  if (body.decision === 'deny' && body.arguments !== undefined)
    throw notEditable('a call that is denied is not changed')
  await answer(ctx, params.question_id, body)
  return detailOf(ctx, params.question_id)
}

const notEditable = (why: string) => new ApiError('INVALID_REQUEST', { detail: `body.arguments: ${why}` })

/** Each by itself: one that is refused says why, and the others count. */
export async function answerQuestions(
  ctx: UserContext,
  { body }: Input<Routes['answerQuestions']>,
): Promise<Reply<Routes['answerQuestions']>> {
  const results: Reply<Routes['answerQuestions']>['results'] = []
  for (const { question_id, ...given } of body.answers) {
    try {
      await requireToken(ctx, 'answers', `${ctx.tenant.tenantId} ${ctx.signIn.userId}`)
      results.push({ question_id, state: await answer(ctx, question_id, given), problem: null })
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 401 || error.status >= 500) throw error
      const { detail } = error.extras
      const problem = {
        code: error.code,
        title: ERRORS[error.code].title,
        detail: typeof detail === 'string' ? detail : null,
      }
      results.push({ question_id, state: null, problem })
    }
  }
  return { results }
}

async function detailOf(ctx: UserContext, questionId: string): Promise<QuestionDetail> {
  const detail = await questionDetail(ctx, questionId)
  if (detail === null) throw new ApiError('NOT_FOUND')
  return detail
}

async function answer(ctx: UserContext, questionId: string, given: AnswerBody): Promise<QuestionState> {
  const { tenantId } = ctx.tenant
  const find = () => inFind(ctx, (sql) => findQuestion(sql, tenantId, questionId, ctx.signIn.userId))
  const known = await find()
  if (known === null) throw new ApiError('NOT_FOUND')
  try {
    return await changeSession<QuestionState>(
      ctx,
      known.sessionId,
      (loaded) => decide(ctx, loaded, questionId, given),
      // Like a kill, an answer waits for no plan: only a changed call is tried.
      { withoutPlan: given.arguments === undefined },
    )
  } catch (error) {
    if (!(error instanceof NotEligible)) throw error
    const now = await find()
    throw new ApiError('NOT_ELIGIBLE', { detail: now === null ? undefined : await whyNot(ctx, now) })
  }
}

async function decide(
  ctx: UserContext,
  loaded: LoadedSession,
  questionId: string,
  given: AnswerBody,
): Promise<ChangeResult<QuestionState> | typeof NEEDS_LOCK> {
  const { session, query, locked } = loaded
  if (!locked) return NEEDS_LOCK
  const { tenantId, hashSalt } = session.fixed
  const question = session.head.state.questions?.find(({ id }) => id === questionId)
  const row = await query((sql) => findQuestion(sql, tenantId, questionId, ctx.signIn.userId))
  if (question === undefined || row === null) throw new ApiError('NOT_FOUND')
  const answers = await query((sql) => listAnswers(sql, tenantId, [questionId]))
  const before = answers.find(
    ({ userId, cardNo, decision, edited }) =>
      userId === ctx.signIn.userId &&
      cardNo === question.cardNo &&
      decision === given.decision &&
      hashOf(hashSalt, edited) === hashOf(hashSalt, given.arguments),
  )
  // Its reply was lost.
  if (before !== undefined && given.card_hash === question.cardHash) return { reply: question.state }
  const ended = whyClosed(question, session.now, answers)
  const isDecided = ended !== null || (question.state === 'approved' && given.decision === 'approve')
  if (isDecided) throw new ApiError('QUESTION_DECIDED', { detail: ended ?? decidedBy(answers) })
  if (given.card_hash !== question.cardHash) throw new ApiError('QUESTION_CHANGED')
  if (given.decision === 'approve') {
    const card = await intactCard(loaded, question)
    const changed = await changedMeanwhile(loaded, question, row)
    if (changed !== null) return changed
    if (given.arguments !== undefined) await requireEdit(loaded, { card, row, question, edited: given.arguments })
  }
  return write(ctx, loaded, { question, row, given, hashSalt })
}

const hashOf = (salt: string, args: JsonObject | null | undefined) => (args ? saltedHash(salt, args) : null)

async function intactCard({ session, query }: LoadedSession, { id, cardHash }: StateQuestion): Promise<QuestionCard> {
  const { tenantId, hashSalt } = session.fixed
  const card = await query((sql) => loadCard(sql, tenantId, id))
  if (card !== null && cardHashOf(hashSalt, card) === cardHash) return card
  throw new ApiError('QUESTION_CHANGED', { detail: 'what is stored of the question is not what was asked: deny it' })
}

interface Edit {
  readonly card: QuestionCard
  readonly row: StoredQuestion
  readonly question: StateQuestion
  readonly edited: JsonObject
}

/** Tries the changed call in the session as it will be. */
async function requireEdit(loaded: LoadedSession, { card, row, question, edited }: Edit): Promise<void> {
  const { state } = loaded.session.head
  const { hashSalt } = loaded.session.fixed
  const approved = (editedHash?: string) => ({
    ...state,
    questions: state.questions?.map((one) =>
      one === question ? { ...one, state: 'approved' as const, editedHash } : one,
    ),
  })
  const asEdited = approved(saltedHash(hashSalt, edited))
  const problem = await whyNoEdit(loaded, { card, callId: row.callId, edited, asAsked: approved(), asEdited })
  if (problem !== null) throw notEditable(problem)
}

/** A yes is to what the card says: another plan in force is another card, and another definition none. */
async function changedMeanwhile(
  loaded: LoadedSession,
  question: StateQuestion,
  row: StoredQuestion,
): Promise<ChangeResult<QuestionState> | null> {
  const { session, query } = loaded
  const { tenantId } = session.fixed
  const { agent, environment, toolName } = row
  const what = { tenantId, agent, environment, tools: [toolName], proven: null }
  const { approvedHash, definitions } = await query((sql) => loadSurroundings(sql, what))
  if ((definitions[toolName] ?? null) !== row.definitionHash) {
    const body = { question_id: question.id, state: 'withdrawn', cause: 'definition_changed' } as const
    const { head, events } = advance(loaded, [{ type: 'question_ended', at: isoTime(session.now), body }])
    const refusal = new ApiError('QUESTION_DECIDED', { detail: 'the definition of the tool has changed since' })
    return { change: { session, head, events }, refusal }
  }
  if (approvedHash === row.approvedHash) return null
  const again = await putAgain(loaded, question.id, { cause: 'plan_changed', approvedHash })
  if (again === null) return null
  const refusal = new ApiError('QUESTION_CHANGED', { detail: 'another plan has been approved since it was asked' })
  return { change: again.change, refusal }
}

interface Given {
  readonly question: StateQuestion
  readonly row: StoredQuestion
  readonly given: AnswerBody
  readonly hashSalt: string
}

function write(
  ctx: UserContext,
  loaded: LoadedSession,
  { question, row, given, hashSalt }: Given,
): ChangeResult<QuestionState> {
  const { session } = loaded
  const { userId, email, refreshId } = ctx.signIn
  const { decision, note, arguments: edited } = given
  const isYes = decision === 'approve'
  const have = question.yes.length + (isYes ? 1 : 0)
  const state = !isYes ? 'denied' : have < question.needed ? 'waiting' : 'approved'
  const hasNoPerson = row.principalProof === 'no_person'
  const relation = hasNoPerson
    ? 'other'
    : row.requester === null
      ? 'unknown'
      : row.requester === userId
        ? 'self'
        : 'other'
  const at = isoTime(session.now)
  const body: LedgerBody<'answered'> = {
    question_id: question.id,
    card_no: question.cardNo,
    card_hash: question.cardHash,
    decision,
    member_hash: saltedHash(hashSalt, userId),
    name_hash: saltedHash(hashSalt, email),
    relation,
    channel: 'dashboard',
    ...(note !== undefined && { note_hash: saltedHash(hashSalt, note) }),
    ...(edited !== undefined && { edited_hash: saltedHash(hashSalt, edited) }),
    state,
    have,
    ...(state === 'approved' && { usable_until: usableUntil(question.until, session.now.getTime()) }),
  }
  const { head, events } = advance(loaded, [{ type: 'answered', at, body }])
  return {
    change: {
      session,
      head,
      events,
      audit: auditEntry(ctx, { action: isYes ? 'question_approved' : 'question_denied', subject: question.id }),
      questions: {
        answer: {
          questionId: question.id,
          seq: events[0]?.seq ?? 0,
          cardNo: question.cardNo,
          userId,
          memberName: email,
          decision,
          relation,
          channel: 'dashboard',
          signInId: refreshId,
          note: note ?? null,
          edited: edited === undefined ? null : JSON.stringify(edited),
          at,
        },
      },
    },
    reply: state,
  }
}
