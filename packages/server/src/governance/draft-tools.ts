import {
  describeRates,
  draftContracts,
  learnPlan,
  type ObservedSession,
  readSummary,
  type ToolSummary,
  writeSession,
} from '@countersign/engine'
import { type JsonValue, LEARNED_ALPHA } from '@countersign/protocol'
import { observedSessions } from '../captures/observed-sessions.js'
import type { DraftedTools, ToolsToDraft } from '../context/tasks.js'

/** Contracts of an agent's tools, from what is stored of them; measured by the agent's own captures, if they are given. */
export function draftTools({ summaries: texts, offered, salt, captures, alpha }: ToolsToDraft): DraftedTools {
  const summaries = texts.map((text) => readSummary(JSON.parse(text) as ToolSummary))
  const options = {
    salt,
    offered: offered.map(({ toolName, schema }) => ({
      name: toolName,
      ...(schema !== null && { schema: JSON.parse(schema) as JsonValue }),
    })),
  }
  const sessions = summaries.map(({ sessions: seen }) => seen.length)
  if (captures === null) {
    const drafts = draftContracts(summaries, { ...options, otherwise: 'ask' })
    return { drafts: drafts.map((draft) => JSON.stringify(draft)), sessions, session: null }
  }
  const observed: ObservedSession[] = observedSessions(captures)
  const learned = learnPlan(summaries, observed, { ...options, alpha: alpha ?? LEARNED_ALPHA })
  return {
    drafts: learned.drafts.map((draft) => JSON.stringify(draft)),
    sessions,
    session: writeSession(learned.session, describeRates(learned)),
  }
}
