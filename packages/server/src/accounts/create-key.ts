import { type Input, LIMITS, type Reply, type Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { makeApiKey, makeId } from '../base/crypto/secrets.js'
import { audit } from '../context/audit.js'
import type { UserContext } from '../context/context.js'
import { inTransaction } from '../context/work.js'
import { countActiveKeys, insertKey, loadKey } from '../store/accounts/api-keys.js'
import { lockTenant } from '../store/accounts/tenants.js'
import { keyView } from './key-view.js'

/** The key is in this reply and nowhere else. Parallel creations wait for one another at the tenant's row. */
export async function createKey(
  ctx: UserContext,
  { body }: Input<Routes['createKey']>,
): Promise<Reply<Routes['createKey']>> {
  const { tenantId, userId } = ctx.signIn
  const key = makeApiKey(ctx.app.random)
  const keyId = makeId(ctx.app.random, 'key')
  return inTransaction(ctx, async (tx) => {
    if (!(await lockTenant(tx, tenantId))) throw new ApiError('NOT_FOUND')
    if ((await countActiveKeys(tx, tenantId)) >= LIMITS.activeKeysPerTenant) {
      throw new ApiError('KEY_LIMIT', {
        detail: `at most ${LIMITS.activeKeysPerTenant} keys can be active; revoke one first`,
      })
    }
    await insertKey(tx, { tenantId, keyId, userId, name: body.name, prefix: key.prefix, keyHash: key.hash })
    await audit(tx, ctx, { action: 'key_created', subject: keyId, detail: body.name })
    const row = await loadKey(tx, tenantId, keyId)
    if (row === undefined) throw new Error('the key was not stored')
    return { key: keyView(row), api_key: key.raw }
  })
}
