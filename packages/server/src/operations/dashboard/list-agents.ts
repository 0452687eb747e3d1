import { environmentSchema, type Reply, type Routes } from '@countersign/protocol'
import type { UserContext } from '../../context.js'
import { listAttachments, listKnownAgents } from '../../store/agents.js'
import { sumDecisions, sumSessions } from '../../store/decision-counts.js'

const HOUR_MS = 3_600_000
const WINDOW_HOURS = 30 * 24
const MOST = 200

/** Agents of the last 30 days: how much of what they do is enforced, and which plan governs them where. */
export async function listAgents(ctx: UserContext): Promise<Reply<Routes['listAgents']>> {
  const { sql, tenantId } = ctx
  const since = new Date(Math.floor(ctx.clock().getTime() / HOUR_MS) * HOUR_MS - WINDOW_HOURS * HOUR_MS)
  const [known, begun, decided, attachments] = await Promise.all([
    listKnownAgents(sql, tenantId),
    sumSessions(sql, { tenantId, since }),
    sumDecisions(sql, { tenantId, since, spanSeconds: (2 * WINDOW_HOURS * HOUR_MS) / 1_000 }),
    listAttachments(sql, tenantId),
  ])
  const names = new Set([...begun, ...known].map(({ agent }) => agent).filter((agent) => agent !== ''))
  const agents = [...names].map((agent) => {
    const learned = known.find((row) => row.agent === agent)
    const sessions = begun.find((row) => row.agent === agent)
    const seenMs = Math.max(learned?.seen?.getTime() ?? 0, sessions?.lastSeen.getTime() ?? 0)
    const enforced = decided.filter((row) => row.agent === agent).reduce((sum, row) => sum + row.calls, 0)
    return {
      agent,
      sessions: sessions?.sessions ?? 0,
      last_seen: seenMs === 0 ? null : new Date(seenMs).toISOString(),
      calls: { enforced, observed: learned?.observed ?? 0, ungoverned: learned?.ungoverned ?? 0 },
      coverage: learned === undefined || learned.samples === 0 ? null : learned.covered / learned.samples,
      environments: environmentSchema.options.map((environment) => {
        const found = attachments.find((row) => row.agent === agent && row.environment === environment)
        return {
          environment,
          status: found?.status ?? ('none' as const),
          compiled_hash: found?.compiledHash ?? null,
          approved_at: found?.approvedAt?.toISOString() ?? null,
        }
      }),
    }
  })
  const newestFirst = agents.sort((a, b) => (b.last_seen ?? '').localeCompare(a.last_seen ?? ''))
  return { agents: newestFirst.slice(0, MOST) }
}
