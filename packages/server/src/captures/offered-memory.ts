import type { Cache } from '../base/memory/cache.js'
import type { OfferedMemory } from '../context/context.js'

/** What is forgotten is written once more, which changes nothing. */
export function createOfferedMemory(known: Cache<string>): OfferedMemory {
  return {
    unknown: (tools) =>
      tools.filter(({ key, schemaHash }) => {
        const stored = known.find(key)
        return stored === undefined || (schemaHash !== null && stored !== schemaHash)
      }),
    remember: (tenantId, tools) => {
      for (const { key, schemaHash } of tools) {
        const hash = schemaHash ?? NO_SCHEMA
        known.remember(key, hash, { owner: tenantId, bytes: hash.length })
      }
    },
  }
}

const NO_SCHEMA = ''
