import type { Services } from '../context/context.js'
import type { Tx } from '../postgres/sql.js'
import { listOutdatedSecrets, replaceSecrets } from '../store/questions/webhooks.js'
import { secretPlace } from './message.js'

const AT_ONCE = 50

/** Secrets under a former signing key are encrypted under the present one, so that the former can be taken away. */
export async function renewSecrets(tx: Tx, { accounts }: Pick<Services, 'accounts'>): Promise<boolean> {
  const { sealedSecrets } = accounts
  for (const stored of await listOutdatedSecrets(tx, sealedSecrets.current, AT_ONCE)) {
    const place = secretPlace(stored)
    // One that cannot be opened stays as it is: its key may come back.
    const renewed = (sealed: string): string => {
      const secret = sealedSecrets.open(sealed, place)
      return secret === null ? sealed : sealedSecrets.seal(secret, place)
    }
    const { secret, oldSecret } = stored
    await replaceSecrets(tx, stored, {
      secret: renewed(secret),
      oldSecret: oldSecret === null ? null : renewed(oldSecret),
    })
  }
  return false
}
