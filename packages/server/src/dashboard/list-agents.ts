import { environmentSchema, type Reply, type Routes, type UnnamedAgents } from '@countersign/protocol'
import { groupBy } from '../base/group-by.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
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
  const { tenantId } = ctx.tenant
  const nowMs = ctx.app.clock().getTime()
  const since = new Date(Math.floor(nowMs / HOUR_MS) * HOUR_MS - WINDOW_HOURS * HOUR_MS)
  const [begun, known, aside] = await Promise.all([
    inRead(ctx, (sql) => sumSessions(sql, { tenantId, since })),
    inRead(ctx, (sql) => listKnownAgents(sql, tenantId)),
    inRead(ctx, (sql) => countCapturesAside(sql, tenantId)),
  ])
  // A tenant may have a new agent with each session: all that follows is asked for these alone.
  const names = new Set([...begun, ...known, ...aside].map(({ agent }) => agent))
  const [activity, attachments] = await Promise.all([
    loadAgentActivity(ctx, { nowMs, since, begun, agents: [...names, ''] }),
    inRead(ctx, (sql) => listAttachments(sql, tenantId, [...names])),
  ])
  names.delete('')
  const learnedOf = rowOf(known)
  const asideOf = rowOf(aside)
  const attachmentsOf = byAgent(attachments)
  const agents = [...names].map((agent) => {
    const learned = learnedOf.get(agent)
    const { calls, ...own } = activity.of(agent, learned?.seen ?? null)
    return {
      agent,
      ...own,
      calls: { ...calls, observed: learned?.observed ?? 0, ungoverned: learned?.ungoverned ?? 0 },
      coverage: learned === undefined || learned.samples === 0 ? null : learned.covered / learned.samples,
      set_aside: { captures: asideOf.get(agent)?.captures ?? 0, reason: asideOf.get(agent)?.reason ?? null },
      environments: environmentSchema.options.map((environment) => {
        const found = attachmentsOf.get(agent)?.find((row) => row.environment === environment)
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
    total: await inRead(ctx, (sql) => countAgents(sql, tenantId, since)),
    unnamed: unnamed.sessions + unnamed.calls.enforced + unnamed.health.unanswered_calls === 0 ? null : unnamed,
  }
}

interface OfAgent {
  readonly agent: string
}

/** The rows of each agent. There may be thousands, of hundreds of agents. */
const byAgent = <Row extends OfAgent>(rows: readonly Row[]) => groupBy(rows, ({ agent }) => agent)

/** The only row of each agent. */
const rowOf = <Row extends OfAgent>(rows: readonly Row[]): Map<string, Row> =>
  new Map(rows.map((row) => [row.agent, row]))

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
  const { tenantId } = ctx.tenant
  const [{ byAgent: decided }, troubled, unanswered] = await Promise.all([
    inRead(ctx, (sql) =>
      sumDecisions(sql, { tenantId, since, spanSeconds: (2 * WINDOW_HOURS * HOUR_MS) / 1_000, agents }),
    ),
    inRead(ctx, (sql) => countTroubledSessions(sql, { tenantId, since, agents })),
    inRead(ctx, (sql) => countUnansweredByAgent(sql, tenantId, agents)),
  ])
  const begunOf = rowOf(begun)
  const decidedOf = byAgent(decided)
  const troubledOf = byAgent(troubled)
  const unansweredOf = rowOf(unanswered)
  return {
    of(agent, learnedAt) {
      const own = begunOf.get(agent)
      const seenMs = Math.max(learnedAt?.getTime() ?? 0, own?.lastSeen.getTime() ?? 0)
      const calls = decidedOf.get(agent) ?? []
      const enforced = callsOf(calls)
      const blocked = callsOf(calls.filter(({ reason }) => reason !== ''))
      const inState = (status: string) => troubledOf.get(agent)?.find((row) => row.status === status)?.sessions ?? 0
      const [recovering, compromised, killed] = [inState('RECOVERING'), inState('COMPROMISED'), inState('KILLED')]
      const waiting = unansweredOf.get(agent)?.calls ?? 0
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
          ...(unansweredOf.get(agent)?.more === true && { unanswered_more: true }),
          recovering,
          compromised,
          killed,
        },
      }
    },
  }
}

const callsOf = (rows: readonly { calls: number }[]): number => rows.reduce((sum, { calls }) => sum + calls, 0)
