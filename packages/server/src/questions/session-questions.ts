import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Input, LIMITS, type Reply, type Routes, type SessionQuestion } from '@countersign/protocol'
import { ApiError, unauthenticated } from '../base/api-error.js'
import { isoTime } from '../base/iso-time.js'
import { advance } from '../change/advance.js'
import { changeSession, loadForDecision, NEEDS_LOCK } from '../change/change-session.js'
import { requireFence } from '../change/guards.js'
import type { Context } from '../context/context.js'
import { inFind, inRead } from '../context/work.js'
import { isKeyActive } from '../store/accounts/api-keys.js'
import { listCards } from '../store/questions/cards.js'
import { listAnswers, listQuestionsOfSession, type StoredQuestion } from '../store/questions/questions.js'
import { sessionQuestion } from './views.js'
import { whyClosed } from './why-closed.js'

/** How often it is looked while a request waits. */
const LOOK_MS = 1_000

/** Requests of a tenant that wait in this process. */
const waiting = new Map<string, number>()

/** Questions of a session; with `wait`, as soon as one of them has changed since `after`. */
export async function listSessionQuestions(
  ctx: Context,
  { params, query }: Input<Routes['listSessionQuestions']>,
): Promise<Reply<Routes['listSessionQuestions']>> {
  const { tenantId } = ctx.tenant
  const look = () => inFind(ctx, (sql) => listQuestionsOfSession(sql, tenantId, params.session_id))
  let found = await look()
  // It is known only where this process had it at hand. Throws where there is none.
  if (ctx.session === null) await loadForDecision(ctx, params.session_id)
  let version = versionOf(found)
  const waits = query.wait > 0 && query.after === version
  // Threads never wait: they are for long requests.
  const isFull = waits && (!ctx.app.isInPlace || (waiting.get(tenantId) ?? 0) >= LIMITS.questionWaitsPerTenant)
  if (waits && !isFull) {
    const untilMs = performance.now() + query.wait * 1_000
    waiting.set(tenantId, (waiting.get(tenantId) ?? 0) + 1)
    try {
      while (version === query.after && performance.now() < untilMs && ctx.app.isReady() && !hasLeft(ctx)) {
        await pause(Math.min(LOOK_MS, Math.max(1, untilMs - performance.now())))
        found = await look()
        version = versionOf(found)
      }
      await requireActiveKey(ctx)
    } finally {
      const left = (waiting.get(tenantId) ?? 1) - 1
      if (left === 0) waiting.delete(tenantId)
      else waiting.set(tenantId, left)
    }
  }
  return { questions: await views(ctx, found), version, retry_after: isFull ? 5 : null }
}

/** The client has disconnected, and its slot is free for others. */
const hasLeft = ({ request }: Context): boolean => request.http.incoming.socket.destroyed

/** The key may have been revoked, or have expired, while its request waited. */
async function requireActiveKey(ctx: Context): Promise<void> {
  const { tenantId, keyId } = ctx.tenant
  if (keyId !== null && !(await inFind(ctx, (sql) => isKeyActive(sql, tenantId, keyId)))) throw unauthenticated()
}

/** Another as soon as any of the questions has changed. */
function versionOf(questions: readonly StoredQuestion[]): string {
  const hash = createHash('sha256')
  for (const { questionId, state, have, cardNo } of questions) hash.update(`${questionId} ${state} ${have} ${cardNo};`)
  return hash.digest('base64url').slice(0, 22)
}

async function views(ctx: Context, questions: readonly StoredQuestion[]): Promise<SessionQuestion[]> {
  const { tenantId } = ctx.tenant
  const ids = questions.map(({ questionId }) => questionId)
  if (ids.length === 0) return []
  const answers = await inRead(ctx, (sql) => listAnswers(sql, tenantId, ids))
  const cards = await inRead(ctx, (sql) => listCards(sql, tenantId, ids))
  return questions.map((question) =>
    sessionQuestion(ctx.app, question, {
      answers: answers.filter(({ questionId }) => questionId === question.questionId),
      args: cards.get(question.questionId) ?? null,
    }),
  )
}

/** The holder does not want the call any more. Withdrawn once more, it stays so. */
export async function withdrawQuestion(
  ctx: Context,
  { params, body }: Input<Routes['withdrawQuestion']>,
): Promise<Reply<Routes['withdrawQuestion']>> {
  await changeSession<null>(
    ctx,
    params.session_id,
    (loaded) => {
      const { session, locked } = loaded
      const question = session.head.state.questions?.find(({ id }) => id === params.question_id)
      if (question === undefined) throw new ApiError('NOT_FOUND')
      requireFence(session, body.fence)
      if (question.state === 'withdrawn') return { reply: null }
      const ended = whyClosed(question, session.now)
      if (ended !== null) throw new ApiError('QUESTION_DECIDED', { detail: ended })
      if (!locked) return NEEDS_LOCK
      const event = {
        type: 'question_ended',
        at: isoTime(session.now),
        body: { question_id: question.id, state: 'withdrawn', cause: 'holder' },
      } as const
      const { head, events } = advance(loaded, [event])
      return { change: { session, head, events }, reply: null }
    },
    { withoutPlan: true },
  )
  const all = await inFind(ctx, (sql) => listQuestionsOfSession(sql, ctx.tenant.tenantId, params.session_id))
  const [view] = await views(
    ctx,
    all.filter(({ questionId }) => questionId === params.question_id),
  )
  if (view === undefined) throw new ApiError('NOT_FOUND')
  return view
}
