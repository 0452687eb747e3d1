import { cardHashOf, remainingOf } from '@countersign/engine'
import { isLive, type QuestionDetail } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { isoTime } from '../base/iso-time.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { findSessionLimits } from '../store/governance/plans.js'
import { loadCard } from '../store/questions/cards.js'
import { listDeliveries } from '../store/questions/deliveries.js'
import { findQuestion, listAnswers, loadAnswerer, type StoredQuestion } from '../store/questions/questions.js'
import { loadSession } from '../store/sessions/sessions.js'
import { isOne } from './people.js'
import { surroundingsOf } from './surroundings.js'
import { kindOf, questionRow } from './views.js'

/** Everything that a page about one question shows. Null: the tenant has no such question. */
export async function questionDetail(ctx: UserContext, questionId: string): Promise<QuestionDetail | null> {
  const { tenantId } = ctx.tenant
  const { userId, role } = ctx.signIn
  const question = await inRead(ctx, (sql) => findQuestion(sql, tenantId, questionId, userId))
  if (question === null) return null
  const card = await inRead(ctx, (sql) => loadCard(sql, tenantId, questionId))
  const answers = await inRead(ctx, (sql) => listAnswers(sql, tenantId, [questionId]))
  const deliveries = await inRead(ctx, (sql) => listDeliveries(sql, tenantId, questionId))
  const session = await inRead(ctx, (sql) => loadSession(sql, tenantId, question.sessionId))
  if (session === null) throw new ApiError('NOT_FOUND')
  const { fixed, head, now } = session
  const isIntact = card === null || cardHashOf(fixed.hashSalt, card) === question.cardHash
  const limits = await inRead(ctx, (sql) => findSessionLimits(sql, tenantId, fixed.compiledHash))
  return {
    question: questionRow(question),
    card: isIntact ? card : null,
    card_hash: question.cardHash,
    ...(!isIntact && { changed: true as const }),
    answers: answers.map(({ cardNo, memberName, decision, relation, channel, note, edited, at }) => ({
      card_no: cardNo,
      by: memberName,
      decision,
      relation,
      channel,
      note,
      edited,
      at: at.toISOString(),
    })),
    deliveries: deliveries.map(({ kind, channel, recipient, createdAt, sentAt, attempts, error }) => ({
      kind: kindOf(kind),
      channel,
      // The rest of a webhook's address may be a secret.
      to: recipient !== null && channel === 'webhook' ? new URL(recipient).host : recipient,
      at: createdAt.toISOString(),
      sent_at: sentAt?.toISOString() ?? null,
      attempts,
      error,
    })),
    may: {
      answer: question.mine,
      deny: question.mayDeny,
      confirms: question.requester === userId,
      ask_again: role === 'owner' && isLive(question.state),
      why_not: question.mine ? null : await whyNot(ctx, question),
    },
    ...(await surroundingsOf(ctx, fixed, question)),
    remaining: remainingOf(limits, head.state, now.getTime()),
  }
}

/** Why the reader cannot answer, as a sentence. */
export async function whyNot(ctx: UserContext, question: StoredQuestion): Promise<string> {
  const { tenantId } = ctx.tenant
  const { userId, role } = ctx.signIn
  if (question.state !== 'waiting') return `The question is ${question.state}.`
  if (role === 'viewer') return 'You are a viewer; approvers and owners answer questions.'
  const answers = await inRead(ctx, (sql) => listAnswers(sql, tenantId, [question.questionId]))
  if (answers.some((one) => one.userId === userId && one.cardNo === question.cardNo)) return 'You have answered it.'
  if (question.self === 'never' && question.requester === userId)
    return 'The session acts for you, and its rule requires someone else to answer.'
  const { now, member } = await inRead(ctx, (sql) => loadAnswerer(sql, tenantId, userId))
  const fits = (one: string) => member !== null && isOne({ ...member, role }, one)
  const asked = question.eligible.map((rule) => rule.map(({ role: one }) => one).join(' or ')).join(', and ')
  if (!question.eligible.every((rule) => rule.some((one) => fits(one.role))))
    return `It asks ${asked}, and you are not one.`
  const begins = question.eligible.map((rule) =>
    Math.min(...rule.filter((one) => fits(one.role)).map(({ from }) => Date.parse(from))),
  )
  const from = new Date(Math.max(...begins))
  return from > now
    ? `It asks you only from ${isoTime(from)} on, if others have not answered by then.`
    : `It asks ${asked}. You have been one only since it was asked: an owner can ask again.`
}
