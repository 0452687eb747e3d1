import { LIMITS, type SharedLimit } from '@countersign/protocol'
import { addDecimals, compareDecimals, subtractDecimals } from '../json/decimal.js'
import type { CompiledPath } from '../json/json-path.js'
import type { Conditional } from './when/condition.js'

/** A limit over all sessions that share its key, ready to judge with. */
export interface PreparedSharedLimit extends Conditional {
  readonly name: string
  readonly definition: SharedLimit
  /** Null: it counts the calls of every tool. */
  readonly tool: string | null
  readonly per: 'argument' | 'principal' | 'agent' | 'workflow' | 'tenant'
  /** Where the key stands in the arguments; null unless it is kept per argument. */
  readonly key: CompiledPath | null
  readonly counts: 'calls' | 'sum' | 'cost'
  /** Where the amounts of a sum stand. */
  readonly path: CompiledPath | null
  readonly most: string
  readonly windowMs: number
}

/** The shared limits of a plan. */
export interface SharedLimits {
  readonly all: readonly PreparedSharedLimit[]
  readonly cost: readonly PreparedSharedLimit[]
  /** Those that count the calls of a tool. */
  of(tool: string): readonly PreparedSharedLimit[]
  /** True if some limit is kept for each of them, so that a session must say which one is its own. */
  readonly needs: { readonly principal: boolean; readonly workflow: boolean }
}

/** What was taken in one part of the window, by the number of that part. */
export interface UsedBucket {
  readonly bucket: number
  readonly amount: string
}

type Windowed = Pick<PreparedSharedLimit, 'windowMs'>

/** A window is kept in so many parts, so that what is stored is bounded. */
const bucketMs = ({ windowMs }: Windowed): number => windowMs / LIMITS.sharedLimitBuckets

export const bucketAt = (limit: Windowed, atMs: number): number => Math.floor(atMs / bucketMs(limit))

/** When what was taken in a part stops to count. To the strict side: a window after the end of that part. */
export const bucketEndMs = (limit: Windowed, bucket: number): number =>
  Math.ceil((bucket + 1) * bucketMs(limit) + limit.windowMs)

/** The newest part that does not count any more. */
export const lastPastBucket = (limit: Windowed, nowMs: number): number =>
  Math.floor((nowMs - limit.windowMs) / bucketMs(limit)) - 1

/** What counts now, the oldest first. */
export function liveBuckets(limit: PreparedSharedLimit, used: readonly UsedBucket[], nowMs: number): UsedBucket[] {
  const past = lastPastBucket(limit, nowMs)
  return used.filter(({ bucket }) => bucket > past).sort((a, b) => a.bucket - b.bucket)
}

export const sumOf = (used: readonly UsedBucket[]): string =>
  used.reduce((sum, { amount }) => addDecimals(sum, amount), '0')

/** When so much will have ended that the limit has room for the amount; null: it is more than the limit itself. */
export function freesAtMs(
  limit: PreparedSharedLimit,
  live: readonly UsedBucket[],
  amount: string,
  taken: string,
): number | null {
  let used = addDecimals(sumOf(live), taken)
  const fits = () =>
    compareDecimals(addDecimals(used, amount), limit.most) <= 0 && compareDecimals(used, limit.most) < 0
  for (const { bucket, amount: ended } of live) {
    used = subtractDecimals(used, ended)
    if (fits()) return bucketEndMs(limit, bucket)
  }
  return null
}
