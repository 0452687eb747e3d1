import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { forgetSession } from '../captures/forget-session.js'
import { audit } from '../context/audit.js'
import type { UserContext } from '../context/context.js'
import { inFind, inTransaction } from '../context/work.js'
import { endQuestions } from '../questions/end-questions.js'
import { holdAgentOf, type LearnedSession, listLearnedCaptures } from '../store/captures/forgetting.js'
import { blankQuestions } from '../store/questions/questions.js'
import { eraseContent as eraseStoredContent } from '../store/sessions/content.js'
import { lockSession } from '../store/sessions/sessions.js'

/** How often it is begun again when more was learned of the session meanwhile. */
const MOST_TRIES = 5

/** Arguments, found values, messages, what was learned of them, and the principal go; the ledger stays and still verifies. */
export async function eraseContent(
  ctx: UserContext,
  { params }: Input<Routes['eraseContent']>,
): Promise<Reply<Routes['eraseContent']>> {
  const session = { tenantId: ctx.tenant.tenantId, sessionId: params.session_id }
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    await forgetLearned(ctx, session)
    if (await eraseForgotten(ctx, session)) return { ok: true }
  }
  throw new ApiError('BUSY', { detail: 'captures of this session are being processed; retry in a few seconds' })
}

/** Before anything is locked: it may take seconds. */
async function forgetLearned(ctx: UserContext, session: LearnedSession): Promise<void> {
  const [learned] = await inFind(ctx, (sql) => listLearnedCaptures(sql, session, 1))
  if (learned === undefined) return
  await forgetSession(ctx.app, session)
}

/** False when something was learned of the session since it was forgotten. */
function eraseForgotten(ctx: UserContext, session: LearnedSession): Promise<boolean> {
  const { tenantId, sessionId } = session
  return inTransaction(ctx, async (tx) => {
    if (!(await lockSession(tx, tenantId, sessionId))) throw new ApiError('NOT_FOUND')
    await holdAgentOf(tx, session)
    if ((await listLearnedCaptures(tx, session, 1)).length > 0) return false
    await endQuestions(tx, session, { state: 'withdrawn', cause: 'erased' })
    await blankQuestions(tx, tenantId, sessionId)
    const items = await eraseStoredContent(tx, tenantId, sessionId)
    await audit(tx, ctx, { action: 'content_erased', subject: sessionId, detail: `${items} items` })
    return true
  })
}
