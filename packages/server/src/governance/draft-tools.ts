import {
  countOf,
  type Draft,
  describeContract,
  describeRates,
  draftContracts,
  draftNotes,
  learnPlan,
  type ObservedSession,
  readSummary,
  type ToolSummary,
  writeContract,
  writeSession,
} from '@countersign/engine'
import { type JsonValue, LEARNED_ALPHA } from '@countersign/protocol'
import { observedSessions } from '../captures/observed-sessions.js'
import type { DraftedTool, DraftedTools, ToolsToDraft } from '../context/tasks.js'

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
  const sessions = summaries.map(({ sessions: seen }) => countOf(seen))
  if (captures === null) {
    const drafts = draftContracts(summaries, { ...options, otherwise: 'ask' })
    return { drafts: allWritten(drafts), sessions, session: null }
  }
  const observed: ObservedSession[] = observedSessions(captures)
  const learned = learnPlan(summaries, observed, { ...options, alpha: alpha ?? LEARNED_ALPHA })
  return {
    drafts: allWritten(learned.drafts),
    sessions,
    session: writeSession(learned.session, describeRates(learned)),
  }
}

/** Characters of what is sent back: twice what the list of contracts shows, and more than plans can hold. */
const MOST_CHARACTERS = 8 * 1024 * 1024

/** What is too much together is put down by name and effect alone, and says so. */
function allWritten(drafts: readonly Draft[]): DraftedTool[] {
  let left = MOST_CHARACTERS
  return drafts.map((draft) => {
    const whole = left > 0 ? written(draft) : null
    const own = whole !== null && sizeOf(whole) <= left ? whole : written(bare(draft))
    left -= sizeOf(own)
    return own
  })
}

const sizeOf = ({ text, bareText, words, notes }: DraftedTool): number =>
  [text, bareText, ...words, ...notes].reduce((sum, part) => sum + part.length, 0)

const written = (draft: Draft): DraftedTool => ({
  tool: draft.contract.tool,
  samples: draft.samples,
  confidence: draft.confidence,
  falseBlockBound: draft.falseBlockBound,
  ...writeContract(draft),
  bareText: writeContract(bare(draft)).text,
  words: describeContract(draft.contract),
  notes: draftNotes(draft),
})

function bare(draft: Draft): Draft {
  const { tool, side_effect } = draft.contract
  const contract = { tool, source: 'inferred' as const, ...(side_effect && { side_effect }) }
  return { ...draft, contract, openings: [], wouldBlock: [], suggestions: [], shortened: true }
}
