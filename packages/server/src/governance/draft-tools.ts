import { draftContracts, readSummary, type ToolSummary } from '@countersign/engine'
import type { JsonValue } from '@countersign/protocol'
import type { DraftedTools, ToolsToDraft } from '../context/tasks.js'

/** Contracts of an agent's tools, from what is stored of them. */
export function draftTools({ summaries: texts, offered, salt }: ToolsToDraft): DraftedTools {
  const summaries = texts.map((text) => readSummary(JSON.parse(text) as ToolSummary))
  const drafts = draftContracts(summaries, {
    salt,
    otherwise: 'ask',
    offered: offered.map(({ toolName, schema }) => ({
      name: toolName,
      ...(schema !== null && { schema: JSON.parse(schema) as JsonValue }),
    })),
  })
  return {
    drafts: drafts.map((draft) => JSON.stringify(draft)),
    sessions: summaries.map(({ sessions }) => sessions.length),
  }
}
