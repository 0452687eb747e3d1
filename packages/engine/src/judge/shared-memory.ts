import type { LedgerBody } from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import { bucketAt, type UsedBucket } from '../contract/shared-limit.js'
import { addDecimals, compareDecimals, subtractDecimals } from '../json/decimal.js'
import type { ReadResponse } from '../response/read-response.js'
import { releasesBudget } from '../state/apply-receipts.js'
import type { SessionState } from '../state/state.js'
import { type Draw, drawsOf, knownDraws, type LimitParty, type SharedCounts } from './rules/draws.js'

/** What changes in a count. A negative amount gives something back. */
export interface CountChange {
  readonly limit: string
  readonly id: string
  /** The part of the window that it was taken in. */
  readonly bucket: number
  readonly amount: string
}

/** Counts of shared limits in memory: for stories and trials, where there is one session. */
export interface SharedMemory {
  counts(party: LimitParty): SharedCounts
  change(changes: readonly CountChange[]): void
}

export function createSharedMemory(): SharedMemory {
  const kept = new Map<string, Map<number, string>>()
  return {
    counts: (party) => ({
      salt: '',
      party,
      used: (id) => [...(kept.get(id) ?? [])].map(([bucket, amount]): UsedBucket => ({ bucket, amount })),
    }),
    change(changes) {
      for (const { id, bucket, amount } of changes) {
        const buckets = kept.get(id) ?? new Map<number, string>()
        const sum = addDecimals(buckets.get(bucket) ?? '0', amount)
        kept.set(id, buckets.set(bucket, compareDecimals(sum, '0') < 0 ? '0' : sum))
      }
    },
  }
}

/** What judging a response may ask for, each count once; `response` is null before there is one. */
export function sharedDraws(
  plan: Plan,
  counts: Pick<SharedCounts, 'salt' | 'party'>,
  response: ReadResponse | null,
): Draw[] {
  if (plan.shared === null) return []
  const found = new Map(knownDraws(plan.shared.all, counts).map((draw) => [draw.id, draw]))
  for (const { name, arguments: args } of response?.calls ?? []) {
    for (const draw of drawsOf(plan, counts, name, { args, scene: null }).draws) found.set(draw.id, draw)
  }
  return [...found.values()]
}

/** What receipts give back of shared limits: what calls took that did not run, or were rolled back. */
export function releasedDraws(plan: Plan, state: SessionState, { receipts }: LedgerBody<'receipts'>): CountChange[] {
  if (plan.shared === null) return []
  const released = new Map<string, CountChange>()
  for (const { pending_call_id, outcome, late } of receipts) {
    const call = state.open?.calls.find((open) => open.pending_call_id === pending_call_id)
    if (late || call === undefined || call.state === 'resolved' || !releasesBudget(call, outcome)) continue
    for (const { limit: name, id, amount } of call.draws ?? []) {
      const limit = plan.shared.all.find((one) => one.name === name)
      if (limit === undefined) continue
      const sum = subtractDecimals(released.get(id)?.amount ?? '0', amount)
      released.set(id, { limit: name, id, bucket: bucketAt(limit, Date.parse(call.proposed_at)), amount: sum })
    }
  }
  return [...released.values()]
}
