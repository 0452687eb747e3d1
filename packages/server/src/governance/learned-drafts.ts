import { type Draft, draftContractsInSteps } from '@countersign/engine'
import type { Context } from '../context/context.js'
import { inTurns } from '../context/work.js'
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
  readonly drafts: readonly Draft[]
  readonly tools: ReadonlyMap<string, LearnedTool>
  /** By tool; a person's contract stands in place of the learned one. */
  readonly written: ReadonlyMap<string, CustomerContract>
}

/** Null for an agent that was never observed. */
export async function learnedDrafts(ctx: Context, agent: string): Promise<AgentLearning | null> {
  const { sql } = ctx.app.database
  const { tenantId } = ctx.tenant
  const [known] = await listLearnedAgents(sql, tenantId, agent)
  if (known === undefined) return null
  const [tools, offered, written] = await Promise.all([
    loadLearnedTools(sql, { tenantId, agent }),
    loadOfferedTools(sql, tenantId, agent),
    loadCustomerContracts(sql, tenantId, agent),
  ])
  const summaries = tools.map(({ summary }) => summary)
  const drafts = await inTurns(ctx, draftContractsInSteps(summaries, { salt: known.salt, otherwise: 'ask', offered }))
  return {
    agent,
    drafts,
    tools: new Map(tools.map((tool) => [tool.toolName, tool])),
    written: new Map(written.map((contract) => [contract.toolName, contract])),
  }
}
