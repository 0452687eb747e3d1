import { LRUCache } from 'lru-cache'
import type { Metrics } from './metrics.js'

/**
 * Everything that this process remembers beyond a request, and what requests hold while they run, each bounded by bytes.
 *
 * - `cache`: forgets what was used longest ago, whosever it is. Never needed for a decision.
 * - `budget`: what is in flight and cannot be forgotten; beyond it new work waits or is refused.
 *
 * Bounds are given for a heap of 512 MB and grow with the setting `memory-mb`. `docs/guides/operate.md` shows the table.
 */
export const MEMORIES = {
  plans: { kind: 'cache', megabytes: 96, holds: 'plans prepared for judging, by hash' },
  sessions: { kind: 'cache', megabytes: 48, holds: 'sessions as this process last wrote them' },
  offered_tools: { kind: 'cache', megabytes: 4, holds: 'hashes of the tools that are already stored' },
  directory: { kind: 'cache', megabytes: 4, holds: 'which tenant a key belongs to' },
  prepaid_tokens: { kind: 'cache', megabytes: 1, holds: 'tokens of recently authenticated keys' },
  byte_counts: { kind: 'cache', megabytes: 1, holds: 'bytes that tenants sent, until they are written' },
  key_usage: { kind: 'cache', megabytes: 1, holds: 'when keys were used, until it is written' },
  issuer_keys: { kind: 'cache', megabytes: 1, holds: 'keys of the issuers of principal tokens' },
  captures: { kind: 'budget', megabytes: 16, holds: 'captures of governed sessions, until written' },
  policies: {
    kind: 'cache',
    megabytes: 32,
    holds: 'policies that Cedar has parsed, outside of the heap',
    isFixed: true,
  },
  bodies: {
    kind: 'budget',
    megabytes: 64,
    holds: 'request bodies above 16 kB, until they are answered',
    isFixed: true,
  },
} as const satisfies Record<string, MemoryRow>

interface MemoryRow {
  readonly kind: 'cache' | 'budget'
  /** The bound at a heap of 512 MB. */
  readonly megabytes: number
  readonly holds: string
  /** Outside of the heap: the same at any `memory-mb`. */
  readonly isFixed?: true
}

export type MemoryName = keyof typeof MEMORIES

/** What is set says its `size`: about what it takes in memory, with its key and all that it alone refers to. */
export type Cache<Value extends object | string> = LRUCache<string, Value>

/** The memories of one process. Each row of the table is opened once, by the room that uses it. */
export interface Memories {
  cache<Value extends object | string>(
    name: MemoryName,
    options?: Pick<LRUCache.Options<string, Value, unknown>, 'dispose'>,
  ): Cache<Value>
  /** Shows a memory that is counted elsewhere. */
  watch(name: MemoryName, bytes: () => number): void
  boundBytes(name: MemoryName): number
  /** What is held now, by the names of the memories that are open. */
  held(): ReadonlyMap<MemoryName, number>
}

/** What a cache takes for an entry beside its value and the characters of its key. */
export const ENTRY_BYTES = 250

/** The heap for which the table gives its bounds. */
const TABLE_MB = 512
const MEGABYTE = 1024 * 1024

export function createMemories({ memoryMb = TABLE_MB, metrics }: MemoryOptions = {}): Memories {
  const open = new Map<MemoryName, () => number>()
  const boundBytes = (name: MemoryName) => {
    const { megabytes, isFixed }: MemoryRow = MEMORIES[name]
    return Math.floor((megabytes * MEGABYTE * (isFixed ? TABLE_MB : memoryMb)) / TABLE_MB)
  }
  const watch = (name: MemoryName, bytes: () => number) => {
    if (open.has(name)) throw new Error(`the memory ${name} is open already`)
    open.set(name, bytes)
  }
  const held = () => new Map([...open].map(([name, bytes]) => [name, bytes()]))
  metrics?.gaugeBy('countersign_memory_bytes', 'Bytes held by each memory of the process', {
    label: 'memory',
    read: held,
  })
  metrics?.gaugeBy('countersign_memory_bound_bytes', 'The most that each memory may hold', {
    label: 'memory',
    read: () => new Map([...open.keys()].map((name) => [name, boundBytes(name)])),
  })
  return {
    cache: (name, options) => {
      const cache = new LRUCache({ ...options, maxSize: boundBytes(name) })
      watch(name, () => cache.calculatedSize)
      return cache
    },
    watch,
    boundBytes,
    held,
  }
}

export interface MemoryOptions {
  readonly memoryMb?: number
  readonly metrics?: Pick<Metrics, 'gaugeBy'>
}
