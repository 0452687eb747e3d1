import { environmentSchema, type Reply, type Routes, type UnnamedAgents } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { countAgents, countTroubledSessions, listAttachments, listKnownAgents } from '../store/dashboard/agents.js'
import { sumDecisions, sumSessions } from '../store/dashboard/decision-counts.js'
import { countUnansweredByAgent } from '../store/dashboard/unanswered-calls.js'
import { countCapturesAside } from '../store/set-aside.js'

const HOUR_MS = 3_600_000
const WINDOW_HOURS = 30 * 24
/** Beyond this share somebody should look at why. */
const MOST_BLOCKED = 0.1
const INACTIVE_AFTER_MS = 7 * 24 * HOUR_MS
const MOST = 200

/** Agents of the last 30 days: how much of what they do is enforced, and which plan governs them where. */
export async function listAgents(ctx: UserContext): Promise<Reply<Routes['listAgents']>> {
  const { sql } = ctx.app.database
  const { tenantId } = ctx.tenant
  const nowMs = ctx.app.clock().getTime()
  const since = new Date(Math.floor(nowMs / HOUR_MS) * HOUR_MS - WINDOW_HOURS * HOUR_MS)
  const [begun, known, aside] = await Promise.all([
    sumSessions(sql, { tenantId, since }),
    listKnownAgents(sql, tenantId),
    countCapturesAside(sql, tenantId),
  ])
  // A tenant may have a new agent with each session: all that follows is asked for these alone.
  const names = new Set([...begun, ...known, ...aside].map(({ agent }) => agent))
  const [activity, attachments] = await Promise.all([
    loadAgentActivity(ctx, { nowMs, since, begun, agents: [...names, ''] }),
    listAttachments(sql, tenantId, [...names]),
  ])
  names.delete('')
  const agents = [...names].map((agent) => {
    const learned = known.find((row) => row.agent === agent)
    const { calls, ...own } = activity.of(agent, learned?.seen ?? null)
    return {
      agent,
      ...own,
      calls: { ...calls, observed: learned?.observed ?? 0, ungoverned: learned?.ungoverned ?? 0 },
      coverage: learned === undefined || learned.samples === 0 ? null : learned.covered / learned.samples,
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
  const unnamed = activity.of('', null)
  return {
    agents: newestFirst.slice(0, MOST),
    total: await countAgents(sql, tenantId, since),
    unnamed: unnamed.sessions + unnamed.calls.enforced + unnamed.health.unanswered_calls === 0 ? null : unnamed,
  }
}

const setAsideIn = (aside: Awaited<ReturnType<typeof countCapturesAside>>, agent: string) => {
  const own = aside.find((row) => row.agent === agent)
  return { captures: own?.captures ?? 0, reason: own?.reason ?? null }
}

interface AgentActivity {
  /** What was done under a name, or under ''. */
  of(agent: string, learnedAt: Date | null): UnnamedAgents
}

interface AskedAgents {
  readonly nowMs: number
  readonly since: Date
  readonly begun: Awaited<ReturnType<typeof sumSessions>>
  /** '' stands for those without a name. */
  readonly agents: readonly string[]
}

/** What agents did in the last 30 days. */
async function loadAgentActivity(
  ctx: UserContext,
  { nowMs, since, begun, agents }: AskedAgents,
): Promise<AgentActivity> {
  const { sql } = ctx.app.database
  const { tenantId } = ctx.tenant
  const [{ byAgent: decided }, troubled, unanswered] = await Promise.all([
    sumDecisions(sql, { tenantId, since, spanSeconds: (2 * WINDOW_HOURS * HOUR_MS) / 1_000, agents }),
    countTroubledSessions(sql, { tenantId, since, agents }),
    countUnansweredByAgent(sql, tenantId, agents),
  ])
  return {
    of(agent, learnedAt) {
      const own = begun.find((row) => row.agent === agent)
      const seenMs = Math.max(learnedAt?.getTime() ?? 0, own?.lastSeen.getTime() ?? 0)
      const calls = decided.filter((row) => row.agent === agent)
      const enforced = callsOf(calls)
      const blocked = callsOf(calls.filter(({ reason }) => reason !== ''))
      const inState = (status: string) =>
        troubled.find((row) => row.agent === agent && row.status === status)?.sessions ?? 0
      const [recovering, compromised, killed] = [inState('RECOVERING'), inState('COMPROMISED'), inState('KILLED')]
      const waiting = unanswered.find((row) => row.agent === agent)?.calls ?? 0
      const isTroubled = recovering + compromised + killed + waiting > 0 || blocked > enforced * MOST_BLOCKED
      return {
        since: since.toISOString(),
        sessions: own?.sessions ?? 0,
        last_seen: seenMs === 0 ? null : new Date(seenMs).toISOString(),
        calls: { enforced },
        health: {
          status: isTroubled ? 'degraded' : nowMs - seenMs > INACTIVE_AFTER_MS ? 'inactive' : 'healthy',
          blocked_calls: blocked,
          unanswered_calls: waiting,
          recovering,
          compromised,
          killed,
        },
      }
    },
  }
}

const callsOf = (rows: readonly { calls: number }[]): number => rows.reduce((sum, { calls }) => sum + calls, 0)
