import type { Metrics } from '../metrics.js'
import { type Budget, createBudget } from './budget.js'
import { type Cache, type CacheOptions, createCache } from './cache.js'
import { type BudgetName, type CacheName, MEMORIES, type MemoryName } from './memory-table.js'

/** The memories of one process. Each row of the table is opened once, by the room that uses it. */
export interface Memories {
  cache<Value>(name: CacheName, options?: Pick<CacheOptions<Value>, 'onEvicted'>): Cache<Value>
  budget(name: BudgetName): Budget
  boundBytes(name: MemoryName): number
  /** What is held now, by the names of the memories that are open. */
  held(): ReadonlyMap<MemoryName, number>
}

/** The heap for which the table gives its bounds. */
const TABLE_MB = 512

export function createMemories({ memoryMb = TABLE_MB, metrics }: MemoryOptions = {}): Memories {
  const open = new Map<MemoryName, { bytes: () => number }>()
  const boundBytes = (name: MemoryName) => Math.floor((MEMORIES[name].megabytes * 1024 * 1024 * memoryMb) / TABLE_MB)
  const opened = <Memory extends { bytes: () => number }>(name: MemoryName, memory: Memory): Memory => {
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
    boundBytes,
    held,
  }
}

export interface MemoryOptions {
  readonly memoryMb?: number
  readonly metrics?: Pick<Metrics, 'gaugeBy'>
}
