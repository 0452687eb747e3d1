import { ApiError } from '../base/api-error.js'
import { createFairGate } from '../base/work/fair-gate.js'
import { TaskFailed } from '../base/work/worker-thread.js'
import type { Context } from '../context/context.js'
import type { DraftedTool, DraftedTools, ToolsToDraft } from '../context/tasks.js'
import { inRead, workOwner } from '../context/work.js'
import { loadNewestCaptures } from '../store/captures/captures.js'
import {
  type CustomerContract,
  type LearnedTool,
  listLearnedAgents,
  loadCustomerContracts,
  loadLearnedTools,
  loadOfferedTools,
  measureLearned,
} from '../store/captures/learned-tools.js'

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

const WAITING = { what: 'lists and drafts of learned contracts of this tenant', perOwner: 4, inAll: 64 } as const

/** One at a time in all: each holds up to 32 MB of summaries, and what is drafted of them until it was used. */
const large = createFairGate({ ...WAITING, atOnce: 1 })

/** Most are small. One at a time for a tenant: what it does with the drafts may wait for other plans of that tenant. */
const small = createFairGate({ ...WAITING, atOnce: 16, atOnceOfOwner: 1 })
const SMALL_SIZE = 512 * 1024

interface Wanted {
  readonly agent: string
  /** By the agent's captures, asking in at most a share `alpha`. Null: the draft does not measure itself. */
  readonly measure: { readonly alpha: number | null } | null
}

/**
 * Does `use` with what is known of an agent's tools; null for an agent that was never observed. Tenants take turns. Throws
 * 429 or 503 before anything is read. `use` must not come here again: it has the one place.
 */
export async function withLearnedDrafts<Result>(
  ctx: Context,
  wanted: Wanted,
  use: (learning: AgentLearning | null) => Promise<Result>,
): Promise<Result> {
  const { tenantId, isOwed } = workOwner(ctx)
  const captures = wanted.measure === null ? 0 : MEASURED_BY.captures
  const size = await inRead(ctx, (sql) => measureLearned(sql, { tenantId, agent: wanted.agent, captures }))
  const gate = size > SMALL_SIZE ? large : small
  return gate.run(tenantId, async () => use(await learnedDrafts(ctx, wanted)), isOwed)
}

async function learnedDrafts(ctx: Context, { agent, measure }: Wanted): Promise<AgentLearning | null> {
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
  const { drafts, sessions, session } = await drafted(ctx, {
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

/** In the thread: what was learned of an agent may come to 32 MB. */
async function drafted({ app, tenant }: Context, input: ToolsToDraft): Promise<DraftedTools> {
  try {
    return await app.thread.run(tenant.tenantId, 'draftTools', input)
  } catch (error) {
    if (!(error instanceof TaskFailed)) throw error
    app.log.warn({ tenant_id: tenant.tenantId, error }, 'contracts could not be drafted from what was learned')
    throw new ApiError('BUSY', { detail: 'contracts could not be drafted from what was learned; try again later' })
  }
}
