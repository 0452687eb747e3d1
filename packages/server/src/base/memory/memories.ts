import type { Metrics } from '../metrics.js'
import { type Budget, createBudget } from './budget.js'
import { type Cache, type CacheOptions, createCache } from './cache.js'
import {
  type BudgetName,
  type CacheName,
  MEMORIES,
  type MemoryName,
  OUTSIDE_THE_HEAP,
  type OutsideName,
} from './memory-table.js'

/** The memories of one process. Each row of the table is opened once, by the room that uses it. */
export interface Memories {
  cache<Value>(name: CacheName, options?: Pick<CacheOptions<Value>, 'onEvicted'>): Cache<Value>
  budget(name: BudgetName): Budget
  /** Shows a memory that a library keeps. */
  watch(name: OutsideName, bytes: () => number): void
  boundBytes(name: MemoryName | OutsideName): number
  /** What is held now, by the names of the memories that are open. */
  held(): ReadonlyMap<MemoryName | OutsideName, number>
}

/** The heap for which the table gives its bounds. */
const TABLE_MB = 512
const MEGABYTE = 1024 * 1024

export function createMemories({ memoryMb = TABLE_MB, metrics }: MemoryOptions = {}): Memories {
  const open = new Map<MemoryName | OutsideName, { bytes: () => number }>()
  const boundBytes = (name: MemoryName | OutsideName) =>
    isOutside(name)
      ? OUTSIDE_THE_HEAP[name].megabytes * MEGABYTE
      : Math.floor((MEMORIES[name].megabytes * MEGABYTE * memoryMb) / TABLE_MB)
  const opened = <Memory extends { bytes: () => number }>(name: MemoryName | OutsideName, memory: Memory): Memory => {
    if (open.has(name)) throw new Error(`the memory ${name} is open already`)
    open.set(name, memory)
    return memory
  }
  const held = () => new Map([...open].map(([name, memory]) => [name, memory.bytes()]))
  metrics?.gaugeBy('countersign_memory_bytes', 'Bytes held by each memory of the process', {
    label: 'memory',
    read: held,
  })
  metrics?.gaugeBy('countersign_memory_bound_bytes', 'The most that each memory may hold', {
    label: 'memory',
    read: () => new Map([...open.keys()].map((name) => [name, boundBytes(name)])),
  })
  return {
    cache: (name, options) =>
      opened(name, createCache({ boundBytes: boundBytes(name), share: MEMORIES[name].share, ...options })),
    budget: (name) => opened(name, createBudget({ boundBytes: boundBytes(name), share: MEMORIES[name].share })),
    watch: (name, bytes) => void opened(name, { bytes }),
    boundBytes,
    held,
  }
}

const isOutside = (name: MemoryName | OutsideName): name is OutsideName => Object.hasOwn(OUTSIDE_THE_HEAP, name)

export interface MemoryOptions {
  readonly memoryMb?: number
  readonly metrics?: Pick<Metrics, 'gaugeBy'>
}
