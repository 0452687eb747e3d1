import { type Input, LIMITS, type Reply, type Routes } from '@countersign/protocol'
import { ApiError } from '../../base/api-error.js'
import { makeApiKey, makeId } from '../../base/crypto/secrets.js'
import { audit } from '../../context/audit.js'
import type { UserContext } from '../../context/context.js'
import { inTenantTransaction } from '../../context/work.js'
import { countActiveKeys, insertKey, loadKey } from '../../store/accounts/api-keys.js'
import { keyView } from './key-view.js'
import { keyWords } from './key-words.js'

/** The key is in this reply and nowhere else. Parallel creations wait for one another at the tenant's row. */
export async function createKey(
  ctx: UserContext,
  { body }: Input<Routes['createKey']>,
): Promise<Reply<Routes['createKey']>> {
  const { tenantId, userId } = ctx.signIn
  const { name, access, agent = null, environment = null, principal = null } = body
  const expiresAt = body.expires_at === undefined ? null : new Date(body.expires_at)
  if (expiresAt !== null && expiresAt <= ctx.app.clock()) {
    throw new ApiError('INVALID_REQUEST', { detail: 'body.expires_at: expected a time to come' })
  }
  const scope = { access, agent, environment }
  const key = makeApiKey(ctx.app.random)
  const keyId = makeId(ctx.app.random, 'key')
  return inTenantTransaction(ctx, async (tx) => {
    if ((await countActiveKeys(tx, tenantId)) >= LIMITS.activeKeysPerTenant) {
      throw new ApiError('KEY_LIMIT', {
        detail: `at most ${LIMITS.activeKeysPerTenant} keys can be active; revoke one first`,
      })
    }
    const made = { tenantId, keyId, userId, name, prefix: key.prefix, keyHash: key.hash, scope, principal, expiresAt }
    await insertKey(tx, made)
    await audit(tx, ctx, { action: 'key_created', subject: keyId, detail: keyWords(name, { ...scope, principal }) })
    const row = await loadKey(tx, tenantId, keyId)
    if (row === undefined) throw new Error('the key was not stored')
    return { key: keyView(row), api_key: key.raw }
  })
}
