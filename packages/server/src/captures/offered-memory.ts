import { type Cache, ENTRY_BYTES } from '../base/memories.js'
import type { OfferedMemory } from '../context/context.js'

/** What is forgotten is written once more, which changes nothing. */
export function createOfferedMemory(known: Cache<string>): OfferedMemory {
  return {
    unknown: (tools) =>
      tools.filter(({ key, schemaHash }) => {
        const stored = known.get(key)
        return stored === undefined || (schemaHash !== null && stored !== schemaHash)
      }),
    remember: (tools) => {
      for (const { key, schemaHash } of tools) {
        const hash = schemaHash ?? NO_SCHEMA
        known.set(key, hash, { size: ENTRY_BYTES + key.length + hash.length })
      }
    },
  }
}

const NO_SCHEMA = ''
