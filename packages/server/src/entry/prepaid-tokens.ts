import type { Quota, Throttled } from '@countersign/protocol'
import type { Cache } from '../base/memories.js'
import type { KeyScope } from '../store/accounts/api-keys.js'

/** A token that was taken from the bucket in advance, for a request of a recently authenticated key. */
export interface PrepaidToken {
  readonly holder: TokenHolder
  /** What is left for the requests that follow. */
  readonly tokens: number
  /** The database's time, as far as this process can tell. */
  readonly now: Date
  /** Few are left: this request is the one that tops them up. */
  readonly isDue: boolean
  /** The request enters in another way after all. */
  readonly refund: () => void
}

export interface TokenHolder {
  readonly tenantId: string
  readonly keyId: string
  readonly userId: string | null
  readonly quota: Quota
  readonly scope: KeyScope
}

/** All requests of one kind by one key draw from one bucket: which one that is, the quota of the key says. */
type RequestKind = Throttled['throttle']

/** What an authentication takes from the bucket. */
export interface TopUp {
  readonly wanted: number
  readonly returned: number
  /** Called with the outcome. Null: the key is not valid, or the bucket is empty. */
  readonly complete: (got: Grant | null) => void
}

export interface Grant {
  readonly holder: TokenHolder
  readonly perMinute: number
  readonly granted: number
  readonly tokens: number
  readonly now: Date
}

/**
 * Tokens of recently authenticated keys, taken from the bucket in advance, so that their requests need no statement of
 * their own to be authenticated and counted (decision 0005).
 *
 * A prepaid token is no permission: the write that follows checks by its own statement that the key is valid. Nor is it
 * credit: it has left the bucket. A process takes in advance what the last second needed, a hundredth of a full bucket at
 * most, and returns what was not needed; so a bucket of fewer than 200 requests per minute is counted one by one.
 */
export interface PrepaidTokens {
  find(keyHash: Buffer, kind: RequestKind): PrepaidToken | null
  topUp(keyHash: Buffer, kind: RequestKind): TopUp
  /** For the requests that follow alone. What is left stays valid until it is complete. */
  renewal(keyHash: Buffer, kind: RequestKind): TopUp
}

const GOOD_FOR_MS = 1_000
/** Used this often, tokens are topped up before they run out: otherwise all requests of that moment would wait. */
const WORTH_RENEWING = 10
const SHARE = 1 / 100
/** An account weighs about this, with the names in it. */
const ACCOUNT_BYTES = 850

export interface Account {
  holder: TokenHolder
  /** The most that is taken at once. */
  most: number
  /** Granted the last time, and what is left of it. */
  granted: number
  left: number
  /** Asked for and not granted yet. */
  coming: number
  tokens: number
  authenticatedAtMs: number
  now: Date
  isToppingUp: boolean
  isRenewing: boolean
}

export function createPrepaidTokens(
  known: Cache<Account>,
  elapsedMs: () => number = () => performance.now(),
): PrepaidTokens {
  const nameOf = (keyHash: Buffer, kind: RequestKind) => kind + keyHash.toString('latin1')

  /** Together with those that are left; but tokens of one quota are worth nothing under another. */
  const store = (name: string, { holder, perMinute, granted, tokens, now }: Grant, used: 0 | 1) => {
    const current = known.get(name)
    const all = granted + (current?.holder.quota === holder.quota ? current.left : 0)
    const most = Math.max(1, Math.floor(perMinute * SHARE))
    const authenticatedAtMs = elapsedMs()
    const state = { coming: current?.coming ?? 0, isToppingUp: false, isRenewing: false }
    const account = { holder, most, granted: all, left: all - used, tokens, authenticatedAtMs, now, ...state }
    known.set(name, account, { size: ACCOUNT_BYTES })
  }

  /**
   * Twice as many as were needed: a key in constant use is soon authenticated once a second, an idle one takes what it uses. Never
   * none, even where the last ones were not needed at all: there is a request to pay for.
   */
  const expected = ({ most, granted, left, coming }: Account, staying: number) =>
    Math.max(1, Math.min(most, (granted - left) * 2) - staying - coming)

  const arrive = (name: string, wanted: number) => {
    const current = known.get(name)
    if (current) current.coming = Math.max(0, current.coming - wanted)
  }

  const isDue = ({ granted, left, isRenewing }: Account, ageMs: number): boolean =>
    !isRenewing && granted - left >= WORTH_RENEWING && (ageMs * 2 > GOOD_FOR_MS || left * 4 < granted)

  return {
    find: (keyHash, kind) => {
      const name = nameOf(keyHash, kind)
      const account = known.get(name)
      if (account === undefined || account.left === 0) return null
      const ageMs = elapsedMs() - account.authenticatedAtMs
      if (ageMs > GOOD_FOR_MS) return null
      account.left -= 1
      const due = isDue(account, ageMs)
      if (due) account.isRenewing = true
      return {
        holder: account.holder,
        tokens: account.tokens + account.left,
        now: new Date(account.now.getTime() + ageMs),
        isDue: due,
        refund: () => {
          // A renewal may have come since.
          const current = known.get(name)
          if (current?.holder.quota === account.holder.quota) current.left += 1
        },
      }
    },
    topUp: (keyHash, kind) => {
      const name = nameOf(keyHash, kind)
      const before = known.get(name)
      if (before?.isToppingUp) return { wanted: 1, returned: 0, complete: () => {} }
      const isBusy = before !== undefined && elapsedMs() - before.authenticatedAtMs <= GOOD_FOR_MS * 2
      const wanted = isBusy ? expected(before, 0) : 1
      const returned = before?.left ?? 0
      if (before) Object.assign(before, { isToppingUp: true, left: 0, coming: before.coming + wanted })
      return {
        wanted,
        returned,
        complete: (got) => {
          if (before) arrive(name, wanted)
          // The request that asked has used the first.
          if (got !== null) store(name, got, 1)
          // But not what a renewal has brought meanwhile.
          else if (known.get(name) === before) known.delete(name)
        },
      }
    },
    renewal: (keyHash, kind) => {
      const name = nameOf(keyHash, kind)
      const before = known.get(name)
      const wanted = before === undefined ? 1 : expected(before, before.left)
      if (before) before.coming += wanted
      return {
        wanted,
        returned: 0,
        complete: (got) => {
          if (before) arrive(name, wanted)
          if (got !== null) store(name, got, 0)
        },
      }
    },
  }
}

/** Every request is authenticated by a statement of its own: what remains without decision 0005. */
export const NO_PREPAID_TOKENS: PrepaidTokens = {
  find: () => null,
  topUp: () => ({ wanted: 1, returned: 0, complete: () => {} }),
  renewal: () => ({ wanted: 1, returned: 0, complete: () => {} }),
}
