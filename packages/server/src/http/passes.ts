import type { Bucket, Quota } from '@countersign/protocol'

/** A request that is paid for, of a key that was recognised a moment ago. */
export interface Pass {
  readonly holder: PassHolder
  /** What is left for the requests that follow. */
  readonly tokens: number
  /** The database's time, as far as this process can tell. */
  readonly now: Date
  /** The request is not served by this pass after all. */
  readonly giveBack: () => void
}

export interface PassHolder {
  readonly tenantId: string
  readonly keyId: string
  readonly userId: string | null
  readonly quota: Quota
}

/** What a recognition is to take from the bucket. */
export interface Order {
  readonly wanted: number
  readonly returned: number
  /** What became of it. Null: the key was not recognised, or the bucket is empty. */
  readonly deliver: (got: Delivery | null) => void
}

export interface Delivery {
  readonly holder: PassHolder
  readonly perMinute: number
  readonly granted: number
  readonly tokens: number
  readonly now: Date
}

/**
 * Requests of busy keys, paid for in advance, so that they need no statement of their own to be recognised and counted.
 *
 * A pass is no permission: the write that it leads to proves by its own statement that the key is valid. And it is no
 * credit: its token has been taken from the bucket. What a process has taken in advance is what the last second needed,
 * a hundredth of a full bucket at most, and goes back when it was not needed; so a bucket of less than two hundred
 * requests a minute is counted request by request.
 */
export interface Passes {
  find(keyHash: Buffer, bucket: Bucket): Pass | null
  order(keyHash: Buffer, bucket: Bucket): Order
}

const GOOD_FOR_MS = 1_000
const SHARE = 1 / 100
const MAX_KEYS = 1_000

interface Prepaid {
  holder: PassHolder
  /** The most that is taken at once. */
  most: number
  /** Granted the last time, and what is left of it. */
  granted: number
  left: number
  tokens: number
  recognisedAtMs: number
  now: Date
  isOrdered: boolean
}

export function createPasses(elapsedMs: () => number = () => performance.now(), maxKeys: number = MAX_KEYS): Passes {
  const known = new Map<string, Prepaid>()
  const nameOf = (keyHash: Buffer, bucket: Bucket) => bucket + keyHash.toString('latin1')

  const keep = (name: string, { holder, perMinute, granted, tokens, now }: Delivery) => {
    const most = Math.max(1, Math.floor(perMinute * SHARE))
    const recognisedAtMs = elapsedMs()
    known.delete(name)
    // The request that ordered has used the first.
    known.set(name, { holder, most, granted, left: granted - 1, tokens, recognisedAtMs, now, isOrdered: false })
    if (known.size > maxKeys) known.delete(known.keys().next().value ?? '')
  }

  return {
    find: (keyHash, bucket) => {
      const prepaid = known.get(nameOf(keyHash, bucket))
      if (prepaid === undefined || prepaid.left === 0) return null
      const ageMs = elapsedMs() - prepaid.recognisedAtMs
      if (ageMs > GOOD_FOR_MS) return null
      prepaid.left -= 1
      return {
        holder: prepaid.holder,
        tokens: prepaid.tokens + prepaid.left,
        now: new Date(prepaid.now.getTime() + ageMs),
        giveBack: () => {
          prepaid.left += 1
        },
      }
    },
    order: (keyHash, bucket) => {
      const name = nameOf(keyHash, bucket)
      const before = known.get(name)
      if (before?.isOrdered) return { wanted: 1, returned: 0, deliver: () => {} }
      const isBusy = before !== undefined && elapsedMs() - before.recognisedAtMs <= GOOD_FOR_MS * 2
      const needed = before === undefined ? 0 : before.granted - before.left
      const returned = before?.left ?? 0
      if (before) Object.assign(before, { isOrdered: true, left: 0 })
      return {
        // Twice as many as were needed: a busy key is soon recognised once a second, an idle one takes what it uses.
        wanted: isBusy ? Math.min(before.most, needed * 2) : 1,
        returned,
        deliver: (got) => {
          if (got === null) known.delete(name)
          else keep(name, got)
        },
      }
    },
  }
}
