import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../../base/api-error.js'
import { audit } from '../../context/audit.js'
import type { UserContext } from '../../context/context.js'
import { inTransaction } from '../../context/work.js'
import { revokeKey as revokeKeyRow } from '../../store/accounts/api-keys.js'

/** The next request with the key is refused, on every instance. */
export async function revokeKey(
  ctx: UserContext,
  { params }: Input<Routes['revokeKey']>,
): Promise<Reply<Routes['revokeKey']>> {
  const { tenantId } = ctx.tenant
  await inTransaction(ctx, async (tx) => {
    if (!(await revokeKeyRow(tx, tenantId, params.key_id))) throw new ApiError('NOT_FOUND')
    await audit(tx, ctx, { action: 'key_revoked', subject: params.key_id })
  })
  return { ok: true }
}
