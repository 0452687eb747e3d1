import type { Services } from '../context/context.js'
import type { Tx } from '../postgres/sql.js'
import { listOutdatedSecrets, replaceSecrets, type StoredSecrets } from '../store/questions/webhooks.js'
import { secretPlace } from './message.js'

const AT_ONCE = 50

/**
 * Secrets under a former signing key are encrypted under the present one, so that the former can be taken away. True when
 * more are left.
 */
export async function renewSecrets(tx: Tx, { accounts }: Pick<Services, 'accounts'>): Promise<boolean> {
  const { sealedSecrets } = accounts
  const renewed = (sealed: string, of: StoredSecrets): string | null => {
    const secret = sealedSecrets.open(sealed, secretPlace(of))
    return secret === null ? null : sealedSecrets.seal(secret, secretPlace(of))
  }
  const outdated = await listOutdatedSecrets(tx, sealedSecrets.former, AT_ONCE)
  let replaced = 0
  for (const stored of outdated) {
    const secret = renewed(stored.secret, stored)
    // Changed in the database: its owner has to roll it.
    if (secret === null) continue
    await replaceSecrets(tx, stored, {
      secret,
      oldSecret: stored.oldSecret === null ? null : renewed(stored.oldSecret, stored),
    })
    replaced += 1
  }
  return replaced > 0 && outdated.length === AT_ONCE
}
