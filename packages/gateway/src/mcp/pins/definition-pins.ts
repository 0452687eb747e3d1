import type { JsonObject } from '@countersign/protocol'

/** A tool as its server defines it. */
export interface ToolDefinition {
  readonly name: string
  /** Of everything that a model or a person is told about the tool, and of the name. */
  readonly hash: string
  /** As the server wrote it. */
  readonly written: JsonObject
}

/** Remembers how tools were defined when they were first used. */
export interface DefinitionPins {
  /** The names of the tools among these whose definition is another than the approved one. Rejects if that is unknown. */
  changed(definitions: readonly ToolDefinition[]): Promise<ReadonlySet<string>>
}

/** Pins of this process alone: a definition holds as it was first seen, until the process ends. */
export function createMemoryPins(): DefinitionPins {
  const pinned = new Map<string, string>()
  return {
    async changed(definitions) {
      const found = new Set<string>()
      for (const { name, hash } of definitions) {
        const first = pinned.get(name)
        if (first === undefined) pinned.set(name, hash)
        else if (first !== hash) found.add(name)
      }
      return found
    },
  }
}
