import type { Bucket, Quota } from '@countersign/protocol'

/** A request that is paid for, of a key that was recognised a moment ago. */
export interface Pass {
  readonly holder: PassHolder
  /** What is left for the requests that follow. */
  readonly tokens: number
  /** The database's time, as far as this process can tell. */
  readonly now: Date
  /** Soon there will be none left: whoever is told is to see to a renewal. Said once. */
  readonly isDue: boolean
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
  /** An order for the requests that follow alone. What is left until it is delivered stays good. */
  renewal(keyHash: Buffer, bucket: Bucket): Order
}

const GOOD_FOR_MS = 1_000
/** What is used so often is renewed before it ends: else all requests of that moment would wait, for each other as well. */
const WORTH_RENEWING = 10
const SHARE = 1 / 100
const MAX_KEYS = 1_000

interface Prepaid {
  holder: PassHolder
  /** The most that is taken at once. */
  most: number
  /** Granted the last time, and what is left of it. */
  granted: number
  left: number
  /** Ordered and not delivered yet. */
  coming: number
  tokens: number
  recognisedAtMs: number
  now: Date
  isOrdered: boolean
  isRenewing: boolean
}

export function createPasses(elapsedMs: () => number = () => performance.now(), maxKeys: number = MAX_KEYS): Passes {
  const known = new Map<string, Prepaid>()
  const nameOf = (keyHash: Buffer, bucket: Bucket) => bucket + keyHash.toString('latin1')

  /** Together with those that are left, which are paid for as well; but what one quota has paid for is none of the next. */
  const keep = (name: string, { holder, perMinute, granted, tokens, now }: Delivery, used: 0 | 1) => {
    const current = known.get(name)
    const all = granted + (current?.holder.quota === holder.quota ? current.left : 0)
    const most = Math.max(1, Math.floor(perMinute * SHARE))
    const recognisedAtMs = elapsedMs()
    const state = { coming: current?.coming ?? 0, isOrdered: false, isRenewing: false }
    known.delete(name)
    known.set(name, { holder, most, granted: all, left: all - used, tokens, recognisedAtMs, now, ...state })
    if (known.size > maxKeys) known.delete(known.keys().next().value ?? '')
  }

  /**
   * Twice as many as were needed: a busy key is soon recognised once a second, an idle one takes what it uses. Never
   * none, also where a renewal has not been needed at all: whoever orders has a request to pay for.
   */
  const expected = ({ most, granted, left, coming }: Prepaid, staying: number) =>
    Math.max(1, Math.min(most, (granted - left) * 2) - staying - coming)

  const arrived = (name: string, wanted: number) => {
    const current = known.get(name)
    if (current) current.coming = Math.max(0, current.coming - wanted)
  }

  const isDue = ({ granted, left, isRenewing }: Prepaid, ageMs: number): boolean =>
    !isRenewing && granted - left >= WORTH_RENEWING && (ageMs * 2 > GOOD_FOR_MS || left * 4 < granted)

  return {
    find: (keyHash, bucket) => {
      const name = nameOf(keyHash, bucket)
      const prepaid = known.get(name)
      if (prepaid === undefined || prepaid.left === 0) return null
      const ageMs = elapsedMs() - prepaid.recognisedAtMs
      if (ageMs > GOOD_FOR_MS) return null
      prepaid.left -= 1
      const due = isDue(prepaid, ageMs)
      if (due) prepaid.isRenewing = true
      return {
        holder: prepaid.holder,
        tokens: prepaid.tokens + prepaid.left,
        now: new Date(prepaid.now.getTime() + ageMs),
        isDue: due,
        giveBack: () => {
          // A renewal may have come since.
          const current = known.get(name)
          if (current?.holder.quota === prepaid.holder.quota) current.left += 1
        },
      }
    },
    order: (keyHash, bucket) => {
      const name = nameOf(keyHash, bucket)
      const before = known.get(name)
      if (before?.isOrdered) return { wanted: 1, returned: 0, deliver: () => {} }
      const isBusy = before !== undefined && elapsedMs() - before.recognisedAtMs <= GOOD_FOR_MS * 2
      const wanted = isBusy ? expected(before, 0) : 1
      const returned = before?.left ?? 0
      if (before) Object.assign(before, { isOrdered: true, left: 0, coming: before.coming + wanted })
      return {
        wanted,
        returned,
        deliver: (got) => {
          if (before) arrived(name, wanted)
          // The request that ordered has used the first.
          if (got !== null) keep(name, got, 1)
          // But not what a renewal has delivered meanwhile.
          else if (known.get(name) === before) known.delete(name)
        },
      }
    },
    renewal: (keyHash, bucket) => {
      const name = nameOf(keyHash, bucket)
      const before = known.get(name)
      const wanted = before === undefined ? 1 : expected(before, before.left)
      if (before) before.coming += wanted
      return {
        wanted,
        returned: 0,
        deliver: (got) => {
          if (before) arrived(name, wanted)
          if (got !== null) keep(name, got, 0)
        },
      }
    },
  }
}
