import { ApiError } from '../base/api-error.js'
import { TaskFailed } from '../base/work/worker-thread.js'
import type { Context } from '../context/context.js'
import type { DraftedTool, DraftedTools, ToolsToDraft } from '../context/tasks.js'
import { loadNewestCaptures } from '../store/captures/captures.js'
import {
  type CustomerContract,
  type LearnedTool,
  listLearnedAgents,
  loadCustomerContracts,
  loadLearnedTools,
  loadOfferedTools,
} from '../store/captures/learned-tools.js'

/** Everything that is known of an agent's tools. */
export interface AgentLearning {
  readonly agent: string
  readonly drafts: readonly DraftedTool[]
  readonly tools: ReadonlyMap<string, KnownTool>
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

/** Null for an agent that was never observed. `measure`: by the agent's captures, asking in at most a share `alpha`. */
export async function learnedDrafts(
  ctx: Context,
  agent: string,
  measure: { readonly alpha: number | null } | null = null,
): Promise<AgentLearning | null> {
  const { sql } = ctx.app.database
  const { tenantId } = ctx.tenant
  const [known] = await listLearnedAgents(sql, tenantId, agent)
  if (known === undefined) return null
  const [tools, offered, written] = await Promise.all([
    loadLearnedTools(sql, { tenantId, agent }),
    loadOfferedTools(sql, tenantId, agent),
    loadCustomerContracts(sql, tenantId, agent),
  ])
  const captures = measure === null ? null : await loadNewestCaptures(sql, { tenantId, agent }, MEASURED_BY)
  const { drafts, sessions, session } = await drafted(ctx, {
    summaries: tools.map(({ summary }) => summary),
    offered,
    salt: known.salt,
    captures,
    alpha: measure?.alpha ?? null,
  })
  return {
    agent,
    drafts,
    tools: new Map(tools.map((tool, at) => [tool.toolName, { ...tool, sessions: sessions[at] ?? 0 }])),
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
