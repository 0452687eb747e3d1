import { sha256 } from '../base/crypto/secrets.js'
import type { Cache } from '../base/memory/cache.js'
import type { OfferedMemory, OfferedTool } from '../context/context.js'

/** What is forgotten is written once more, which changes nothing. */
export function createOfferedMemory(known: Cache<string>): OfferedMemory {
  return {
    unknown: (tenantId, tools) =>
      tools.filter((tool) => {
        const schema = known.find(keyOf(tenantId, tool))
        return schema === undefined || (tool.schema !== null && schema !== hashOf(tool.schema))
      }),
    remember: (tenantId, tools) => {
      for (const tool of tools) {
        const hash = hashOf(tool.schema)
        known.remember(keyOf(tenantId, tool), hash, { owner: tenantId, bytes: hash.length })
      }
    },
  }
}

/** Hashes, because names and schemas may be long. */
const keyOf = (tenantId: string, { agent, tool_name }: OfferedTool) => hashOf([tenantId, agent, tool_name])

const hashOf = (value: unknown) => sha256(JSON.stringify(value)).toString('base64')
