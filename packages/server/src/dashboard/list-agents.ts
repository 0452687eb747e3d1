import { environmentSchema, type Reply, type Routes } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { countAgents, countTroubledSessions, listAttachments, listKnownAgents } from '../store/dashboard/agents.js'
import { sumDecisions, sumSessions } from '../store/dashboard/decision-counts.js'
import { countUnansweredByAgent } from '../store/dashboard/unanswered-calls.js'
import { countCapturesAside } from '../store/set-aside.js'

const HOUR_MS = 3_600_000
const WINDOW_HOURS = 30 * 24
const MOST = 200
/** Beyond this share somebody should look at why. */
const MOST_BLOCKED = 0.1
const INACTIVE_AFTER_MS = 7 * 24 * HOUR_MS

/** Agents of the last 30 days: how much of what they do is enforced, and which plan governs them where. */
export async function listAgents(ctx: UserContext): Promise<Reply<Routes['listAgents']>> {
  const { sql } = ctx.app.database
  const { tenantId } = ctx.tenant
  const nowMs = ctx.app.clock().getTime()
  const since = new Date(Math.floor(nowMs / HOUR_MS) * HOUR_MS - WINDOW_HOURS * HOUR_MS)
  const [known, begun, decided, troubled, unanswered, attachments, aside] = await Promise.all([
    listKnownAgents(sql, tenantId),
    sumSessions(sql, { tenantId, since }),
    sumDecisions(sql, { tenantId, since, spanSeconds: (2 * WINDOW_HOURS * HOUR_MS) / 1_000 }),
    countTroubledSessions(sql, tenantId, since),
    countUnansweredByAgent(sql, tenantId),
    listAttachments(sql, tenantId),
    countCapturesAside(sql, tenantId),
  ])
  const names = new Set([...begun, ...known, ...aside].map(({ agent }) => agent).filter((agent) => agent !== ''))
  const agents = [...names].map((agent) => {
    const learned = known.find((row) => row.agent === agent)
    const sessions = begun.find((row) => row.agent === agent)
    const seenMs = Math.max(learned?.seen?.getTime() ?? 0, sessions?.lastSeen.getTime() ?? 0)
    const calls = decided.filter((row) => row.agent === agent)
    const inState = (status: string) =>
      troubled.find((row) => row.agent === agent && row.status === status)?.sessions ?? 0
    const [recovering, compromised, killed] = [inState('RECOVERING'), inState('COMPROMISED'), inState('KILLED')]
    const blocked = callsOf(calls.filter(({ reason }) => reason !== ''))
    const waiting = unanswered.find((row) => row.agent === agent)?.calls ?? 0
    return {
      agent,
      since: since.toISOString(),
      sessions: sessions?.sessions ?? 0,
      last_seen: seenMs === 0 ? null : new Date(seenMs).toISOString(),
      calls: { enforced: callsOf(calls), observed: learned?.observed ?? 0, ungoverned: learned?.ungoverned ?? 0 },
      coverage: learned === undefined || learned.samples === 0 ? null : learned.covered / learned.samples,
      health: {
        status:
          recovering + compromised + killed + waiting > 0 || blocked > callsOf(calls) * MOST_BLOCKED
            ? ('degraded' as const)
            : nowMs - seenMs > INACTIVE_AFTER_MS
              ? ('inactive' as const)
              : ('healthy' as const),
        blocked_calls: blocked,
        unanswered_calls: waiting,
        recovering,
        compromised,
        killed,
      },
      set_aside: setAsideIn(aside, agent),
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
  return { agents: newestFirst.slice(0, MOST), total: await countAgents(sql, tenantId, since) }
}

const setAsideIn = (aside: Awaited<ReturnType<typeof countCapturesAside>>, agent: string) => {
  const own = aside.find((row) => row.agent === agent)
  return { captures: own?.captures ?? 0, reason: own?.reason ?? null }
}

const callsOf = (rows: readonly { calls: number }[]): number => rows.reduce((sum, { calls }) => sum + calls, 0)
