import type { JsonValue } from '@countersign/protocol'

export interface Offered {
  readonly agent: string
  readonly tool_name: string
  readonly schema: JsonValue
}

/** Beyond these everything is forgotten and written once more, which changes nothing. */
const MAX_REMEMBERED = 20_000

/**
 * The tools that this instance has written down already. A program offers the same ones with every request, and once is
 * enough.
 */
export interface OfferedMemory {
  /** Those that are new, or new in their schema. */
  unknown(tenantId: string, tools: readonly Offered[]): Offered[]
  remember(tenantId: string, tools: readonly Offered[]): void
}

const memories = new WeakMap<object, OfferedMemory>()

/** The memory that goes with a database: another one has seen nothing yet. */
export function offeredMemoryOf(database: object): OfferedMemory {
  const memory = memories.get(database) ?? createMemory()
  memories.set(database, memory)
  return memory
}

function createMemory(): OfferedMemory {
  const known = new Map<string, string>()
  const keyOf = (tenantId: string, { agent, tool_name }: Offered) => JSON.stringify([tenantId, agent, tool_name])
  return {
    unknown: (tenantId, tools) =>
      tools.filter((tool) => {
        const schema = known.get(keyOf(tenantId, tool))
        return schema === undefined || (tool.schema !== null && schema !== JSON.stringify(tool.schema))
      }),
    remember: (tenantId, tools) => {
      if (known.size + tools.length > MAX_REMEMBERED) known.clear()
      for (const tool of tools) known.set(keyOf(tenantId, tool), JSON.stringify(tool.schema))
    },
  }
}
