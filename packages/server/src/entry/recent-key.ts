import { bucketFor } from '@countersign/protocol'
import type { Context, OpenContext, RecentKey } from '../context/context.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { type KeyAuthentication, type Keyed, renewTokens, requireAccess } from './authenticate.js'
import { throttle } from './throttle.js'

/** A request by key on a session that this process wrote last. */
export interface RecentRequest {
  readonly keyHash: Buffer
  readonly route: Keyed
  readonly known: SessionRow
  /** Enters like any other request. */
  readonly enter: () => Promise<Context>
}

/**
 * Lets a request in on a recently authenticated key and a prepaid token, without a statement (decision 0005). Null when
 * there is no such token, or the session is another tenant's.
 */
export function enterOnRecentKey(
  keys: KeyAuthentication,
  { app, request }: OpenContext,
  { keyHash, route, known, enter }: RecentRequest,
): Context | null {
  const token = keys.tokens.find(keyHash, route.throttle)
  if (token === null) return null
  const { holder } = token
  if (known.fixed.tenantId !== holder.tenantId) {
    token.refund()
    return null
  }
  requireAccess(route, holder.scope.access)
  if (token.isDue) void renewTokens(keys, { sender: holder.tenantId, keyHash, route })
  keys.keyUsage.note(holder.tenantId, holder.keyId)
  throttle(bucketFor(keys.quotas[holder.quota], route), { taken: true, tokens: token.tokens }, request.replyHeaders)
  const recentKey: RecentKey = {
    proof: { keyHash, quota: holder.quota },
    isChecked: false,
    enter: () => {
      recentKey.isChecked = true
      token.refund()
      return enter()
    },
  }
  const session = token.now > known.now ? { fixed: known.fixed, head: known.head, now: token.now } : known
  return { app, request, tenant: holder, signIn: null, session, recentKey }
}

/** Before an error is reported: a caller learns first whether the key is valid. */
export async function checkKeyBeforeRefusal(recentKey: RecentKey | null | undefined): Promise<void> {
  if (recentKey && !recentKey.isChecked) await recentKey.enter()
}

/** No reply is given on an unchecked key. */
export function requireCheckedKey(recentKey: RecentKey | null | undefined, route: string): void {
  if (recentKey && !recentKey.isChecked) throw new Error(`${route} replied without checking the key`)
}
