import { environmentSchema, type Reply, type Routes } from '@countersign/protocol'
import type { UserContext } from '../../context.js'
import { listAttachments, listAgents as listStoredAgents } from '../../store/agents.js'

const WINDOW_MS = 30 * 24 * 3_600_000

/** Agents of the last 30 days: how much of what they do is enforced, and which plan governs them where. */
export async function listAgents(ctx: UserContext): Promise<Reply<Routes['listAgents']>> {
  const now = ctx.clock()
  const since = new Date(now.getTime() - WINDOW_MS)
  const [agents, attachments] = await Promise.all([
    listStoredAgents(ctx.sql, { tenantId: ctx.tenantId, since, now }),
    listAttachments(ctx.sql, ctx.tenantId),
  ])
  return {
    agents: agents.map(({ agent, sessions, lastSeen, enforced, observed, covered }) => ({
      agent,
      sessions,
      last_seen: lastSeen?.toISOString() ?? null,
      calls: { enforced, observed, ungoverned: observed - covered },
      coverage: observed === 0 ? null : covered / observed,
      environments: environmentSchema.options.map((environment) => {
        const found = attachments.find((row) => row.agent === agent && row.environment === environment)
        return {
          environment,
          status: found?.status ?? 'none',
          compiled_hash: found?.compiledHash ?? null,
          approved_at: found?.approvedAt?.toISOString() ?? null,
        }
      }),
    })),
  }
}
