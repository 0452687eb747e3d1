import { hashValue } from '@countersign/engine'
import type { JsonObject, JsonValue } from '@countersign/protocol'
import { isObject } from '../base/is-object.js'
import type { DefinitionPins, ToolDefinition } from './pins/definition-pins.js'

/** The tools that a server offers. */
export interface ToolCatalog {
  /** Takes over a whole list. */
  replace(tools: readonly JsonObject[]): Promise<void>
  /** Reads a part of a list: gives the tools of it whose definition is the approved one. */
  unchanged(tools: readonly JsonObject[]): Promise<readonly JsonObject[]>
  has(name: string): boolean
  isChanged(name: string): boolean
  /** The server's own names of the tools that may be called. */
  names(): readonly string[]
  /** The list may have changed: it is read again before the next call. */
  markStale(): void
  isStale(): boolean
}

export function createToolCatalog(pins: DefinitionPins): ToolCatalog {
  let known = new Map<string, string>()
  let changed = new Set<string>()
  let isStale = true
  let revision = 0
  return {
    async replace(tools) {
      const definitions = definitionsIn(tools)
      const seenAt = revision
      const found = await pins.changed(definitions)
      known = new Map(definitions.map(({ name, hash }) => [name, hash]))
      changed = new Set(found)
      for (const name of twice(tools)) changed.add(name)
      // Another change may have been announced meanwhile.
      if (seenAt === revision) isStale = false
    },
    async unchanged(tools) {
      const found = await pins.changed(definitionsIn(tools))
      for (const name of found) changed.add(name)
      const doubtful = new Set([...found, ...twice(tools)])
      return tools.filter(({ name }) => typeof name === 'string' && !doubtful.has(name))
    },
    has: (name) => known.has(name),
    isChanged: (name) => changed.has(name),
    names: () => [...known.keys()].filter((name) => !changed.has(name)),
    markStale() {
      isStale = true
      revision++
    },
    isStale: () => isStale,
  }
}

/** What is hashed: all that the model decides by, but for what only clients use, such as icons. */
const DEFINING = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const

function definitionsIn(tools: readonly JsonObject[]): ToolDefinition[] {
  return tools.flatMap((tool) => {
    if (typeof tool.name !== 'string' || tool.name === '') return []
    const written: Record<string, JsonValue> = {}
    for (const key of DEFINING) if (tool[key] !== undefined) written[key] = tool[key]
    return [{ name: tool.name, hash: hashValue(written), written }]
  })
}

/** Two tools of one name: it is unknown which one a call means. */
function twice(tools: readonly JsonObject[]): string[] {
  const seen = new Set<string>()
  return tools.flatMap(({ name }) => {
    if (typeof name !== 'string') return []
    const isSecond = seen.has(name)
    seen.add(name)
    return isSecond ? [name] : []
  })
}

/** The tools of a list; everything else in it is not one. */
export const toolsIn = (result: JsonObject): JsonObject[] =>
  Array.isArray(result.tools) ? result.tools.filter(isObject) : []
