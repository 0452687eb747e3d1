import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { pageByTime, readTimeCursor } from '../base/time-cursor.js'
import { changeSession, NEEDS_LOCK } from '../change/change-session.js'
import { auditEntry } from '../context/audit.js'
import type { UserContext } from '../context/context.js'
import { inFind, inRead } from '../context/work.js'
import { countQuestions, findQuestion, listStoredQuestions } from '../store/questions/questions.js'
import { questionDetail } from './question-detail.js'
import { putAgain } from './renew-questions.js'
import { questionRow } from './views.js'

/** Newest first, page by page. */
export async function listQuestions(
  ctx: UserContext,
  { query }: Input<Routes['listQuestions']>,
): Promise<Reply<Routes['listQuestions']>> {
  const who = { tenantId: ctx.tenant.tenantId, userId: ctx.signIn.userId }
  const below = readTimeCursor(query.cursor)
  const found = await inRead(ctx, (sql) =>
    listStoredQuestions(sql, {
      ...who,
      state: query.state ?? null,
      mine: query.mine !== undefined,
      agent: query.agent ?? null,
      rule: query.rule ?? null,
      sessionId: query.session_id ?? null,
      below,
      limit: query.limit + 1,
    }),
  )
  const page = pageByTime(found, query.limit, { view: questionRow, id: ({ questionId }) => questionId })
  return { ...page, counts: await inRead(ctx, (sql) => countQuestions(sql, who)) }
}

export async function loadQuestion(
  ctx: UserContext,
  { params }: Input<Routes['loadQuestion']>,
): Promise<Reply<Routes['loadQuestion']>> {
  const detail = await questionDetail(ctx, params.question_id)
  if (detail === null) throw new ApiError('NOT_FOUND')
  return detail
}

/** Puts a question again, to those who are members now: answers to it are void, and its time begins anew. */
export async function askAgain(
  ctx: UserContext,
  { params }: Input<Routes['askAgain']>,
): Promise<Reply<Routes['askAgain']>> {
  const { tenantId } = ctx.tenant
  const question = await inFind(ctx, (sql) => findQuestion(sql, tenantId, params.question_id, ctx.signIn.userId))
  if (question === null) throw new ApiError('NOT_FOUND')
  await changeSession<null>(
    ctx,
    question.sessionId,
    async (loaded) => {
      if (!loaded.locked) return NEEDS_LOCK
      const again = await putAgain(loaded, question.questionId, { cause: 'asked_again' })
      if (again === null) throw new ApiError('QUESTION_DECIDED', { detail: 'it has ended' })
      const audit = auditEntry(ctx, { action: 'question_asked_again', subject: question.questionId })
      return { change: { ...again.change, audit }, reply: null }
    },
    { withoutPlan: true },
  )
  const detail = await questionDetail(ctx, params.question_id)
  if (detail === null) throw new ApiError('NOT_FOUND')
  return detail
}
