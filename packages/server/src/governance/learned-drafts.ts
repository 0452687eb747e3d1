import type { Context } from '../context/context.js'
import type { DraftedTool } from '../context/tasks.js'
import { inRead } from '../context/work.js'
import { loadNewestCaptures } from '../store/captures/captures.js'
import {
  type CustomerContract,
  type LearnedTool,
  listLearnedAgents,
  loadCustomerContracts,
  loadLearnedTools,
  loadOfferedTools,
} from '../store/captures/learned-tools.js'
import { draftTools } from './draft-tools.js'

/** Everything that is known of an agent's tools. */
export interface AgentLearning {
  readonly agent: string
  readonly drafts: readonly DraftedTool[]
  readonly tools: ReadonlyMap<string, KnownTool>
  /** More was learned than is read at once: there are tools without a draft. */
  readonly hasUnread: boolean
  /** By tool; a person's contract stands in place of the learned one. */
  readonly written: ReadonlyMap<string, CustomerContract>
  /** The session.yaml of a draft that measured itself by the agent's captures. */
  readonly session: string | null
}

export interface KnownTool extends Pick<LearnedTool, 'judged' | 'passed' | 'updatedAt'> {
  /** How many it was seen in. */
  readonly sessions: number
}

/** Captures by which a draft measures itself: the newest, so many or so many characters of them. */
const MEASURED_BY = { captures: 2_000, size: 4 * 1024 * 1024 } as const

interface Wanted {
  readonly agent: string
  /** By the agent's captures, asking in at most a share `alpha`. Null: the draft does not measure itself. */
  readonly measure: { readonly alpha: number | null } | null
}

/** What is known of an agent's tools; null for an agent that was never observed. */
export async function learnedDrafts(ctx: Context, { agent, measure }: Wanted): Promise<AgentLearning | null> {
  const { tenantId } = ctx.tenant
  const [known] = await inRead(ctx, (sql) => listLearnedAgents(sql, tenantId, agent))
  if (known === undefined) return null
  const [tools, offered, written] = await Promise.all([
    inRead(ctx, (sql) => loadLearnedTools(sql, { tenantId, agent })),
    inRead(ctx, (sql) => loadOfferedTools(sql, tenantId, agent)),
    inRead(ctx, (sql) => loadCustomerContracts(sql, tenantId, agent)),
  ])
  const read = tools.flatMap(({ toolName, summary }) => (summary === null ? [] : [{ toolName, summary }]))
  const unread = new Set(tools.flatMap(({ toolName, summary }) => (summary === null ? [toolName] : [])))
  const captures =
    measure === null ? null : await inRead(ctx, (sql) => loadNewestCaptures(sql, { tenantId, agent }, MEASURED_BY))
  const { drafts, sessions, session } = draftTools({
    summaries: read.map(({ summary }) => summary),
    // They were called: a draft of their schemas alone would say that they were not.
    offered: offered.filter(({ toolName }) => !unread.has(toolName)),
    salt: known.salt,
    captures,
    alpha: measure?.alpha ?? null,
  })
  const seen = new Map(read.map(({ toolName }, at) => [toolName, sessions[at] ?? 0]))
  return {
    agent,
    drafts,
    tools: new Map(
      tools.map(({ summary: _, ...tool }) => [tool.toolName, { ...tool, sessions: seen.get(tool.toolName) ?? 0 }]),
    ),
    hasUnread: unread.size > 0,
    written: new Map(written.map((contract) => [contract.toolName, contract])),
    session,
  }
}
