import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { forgetSession } from '../captures/forget-session.js'
import type { UserContext } from '../context/context.js'
import { inTransaction } from '../context/work.js'
import { insertAuditEntry } from '../store/audit.js'
import { eraseContent as eraseStoredContent } from '../store/sessions/content.js'
import { lockSession } from '../store/sessions/sessions.js'

/** Arguments, found values, messages, what was learned of them, and the principal go; the ledger stays and still verifies. */
export async function eraseContent(
  ctx: UserContext,
  { params }: Input<Routes['eraseContent']>,
): Promise<Reply<Routes['eraseContent']>> {
  const { tenantId, userId, email } = ctx.signIn
  await inTransaction(ctx, async (tx) => {
    if (!(await lockSession(tx, tenantId, params.session_id))) throw new ApiError('NOT_FOUND')
    await forgetSession(tx, tenantId, params.session_id)
    const items = await eraseStoredContent(tx, tenantId, params.session_id)
    await insertAuditEntry(tx, {
      tenantId,
      at: ctx.app.clock(),
      action: 'content_erased',
      userId,
      actor: email,
      ip: ctx.request.clientAddress,
      subject: params.session_id,
      detail: `${items} items`,
    })
  })
  return { ok: true }
}
