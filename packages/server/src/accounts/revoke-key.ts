import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { UserContext } from '../context/context.js'
import { inTransaction } from '../context/work.js'
import { revokeKey as revokeKeyRow } from '../store/accounts/api-keys.js'
import { insertAuditEntry } from '../store/audit.js'

/** The next request with the key is refused, on every instance. */
export async function revokeKey(
  ctx: UserContext,
  { params }: Input<Routes['revokeKey']>,
): Promise<Reply<Routes['revokeKey']>> {
  const { tenantId, userId } = ctx.signIn
  await inTransaction(ctx, async (tx) => {
    if (!(await revokeKeyRow(tx, tenantId, params.key_id))) throw new ApiError('NOT_FOUND')
    await insertAuditEntry(tx, {
      tenantId,
      at: ctx.app.clock(),
      action: 'key_revoked',
      userId,
      actor: ctx.signIn.email,
      ip: ctx.request.clientAddress,
      subject: params.key_id,
    })
  })
  return { ok: true }
}
