/**
 * Everything that this process remembers beyond a request, and what requests hold while they run. Each is bounded by
 * bytes and has a share per tenant, so that what one tenant sends cannot take the memory of the others.
 *
 * - `cache`: forgets what was used longest ago, first of whoever holds more than their share. Never needed for a decision.
 * - `budget`: what is in flight and cannot be forgotten; beyond it new work waits or is refused.
 *
 * Bounds are given for a heap of 512 MB and grow with the setting `memory-mb`. `docs/guides/operate.md` shows the table.
 */
export const MEMORIES = {
  plans: { kind: 'cache', megabytes: 96, share: 1 / 4, holds: 'plans prepared for judging, by hash' },
  sessions: { kind: 'cache', megabytes: 48, share: 1 / 4, holds: 'sessions as this process last wrote them' },
  offered_tools: { kind: 'cache', megabytes: 4, share: 1 / 4, holds: 'hashes of the tools that are already stored' },
  prepaid_tokens: { kind: 'cache', megabytes: 1, share: 1 / 4, holds: 'tokens of recently authenticated keys' },
  byte_counts: { kind: 'cache', megabytes: 1, share: 1 / 4, holds: 'bytes that tenants sent, until they are written' },
  key_usage: { kind: 'cache', megabytes: 1, share: 1 / 4, holds: 'when keys were used, until it is written' },
  captures: { kind: 'budget', megabytes: 16, share: 1 / 4, holds: 'captures of governed sessions, until written' },
} as const satisfies Record<string, MemoryRow>

/**
 * What libraries keep outside of the heap for the main thread, the same at any `memory-mb`. They have no shares: whose
 * policy was given up parses it again, which takes a third of a millisecond (decision 0167).
 */
export const OUTSIDE_THE_HEAP = {
  policies: { kind: 'cache', megabytes: 32, holds: 'policies that Cedar has parsed, outside of the heap' },
  bodies: { kind: 'budget', megabytes: 64, holds: 'request bodies above 16 kB, until they are answered' },
} as const satisfies Record<string, Omit<MemoryRow, 'share'>>

export interface MemoryRow {
  readonly kind: 'cache' | 'budget'
  /** The bound at a heap of 512 MB. */
  readonly megabytes: number
  /** The part of the bound that one tenant may hold while others need it. */
  readonly share: number
  readonly holds: string
}

export type MemoryName = keyof typeof MEMORIES
export type OutsideName = keyof typeof OUTSIDE_THE_HEAP
export type CacheName = {
  [Name in MemoryName]: (typeof MEMORIES)[Name]['kind'] extends 'cache' ? Name : never
}[MemoryName]
export type BudgetName = Exclude<MemoryName, CacheName>
