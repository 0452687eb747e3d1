import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { forgetSession } from '../captures/forget-session.js'
import { audit } from '../context/audit.js'
import type { UserContext } from '../context/context.js'
import { inTransaction } from '../context/work.js'
import { eraseContent as eraseStoredContent } from '../store/sessions/content.js'
import { lockSession } from '../store/sessions/sessions.js'

/** Arguments, found values, messages, what was learned of them, and the principal go; the ledger stays and still verifies. */
export async function eraseContent(
  ctx: UserContext,
  { params }: Input<Routes['eraseContent']>,
): Promise<Reply<Routes['eraseContent']>> {
  const { tenantId } = ctx.tenant
  await inTransaction(ctx, async (tx) => {
    if (!(await lockSession(tx, tenantId, params.session_id))) throw new ApiError('NOT_FOUND')
    await forgetSession(tx, ctx.app.thread, { tenantId, sessionId: params.session_id })
    const items = await eraseStoredContent(tx, tenantId, params.session_id)
    await audit(tx, ctx, { action: 'content_erased', subject: params.session_id, detail: `${items} items` })
  })
  return { ok: true }
}
