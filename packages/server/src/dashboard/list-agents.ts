import { type AgentRow, environmentSchema, type Reply, type Routes } from '@countersign/protocol'
import { groupBy } from '../base/group-by.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { countWaitingCaptures } from '../store/captures/unlearned.js'
import {
  countAgents,
  countTroubledSessions,
  listAttachments,
  listKnownAgents,
  listLastSeen,
} from '../store/dashboard/agents.js'
import { sumCapturedCalls, sumDecisions, sumSessions } from '../store/dashboard/decision-counts.js'
import { countUnansweredByAgent } from '../store/dashboard/unanswered-calls.js'
import { countCapturesAside } from '../store/set-aside.js'
import { coverageOf } from './figures/coverage.js'
import { HOUR_MS, MONTH_MS, startOf } from './figures/period.js'

/** Beyond this share a person should look at why. */
const MOST_BLOCKED = 0.1
const INACTIVE_AFTER_MS = 7 * 24 * HOUR_MS
const MOST = 200

/** Agents of the last 30 days: how much of what they do is enforced, and which plan governs them where. */
export async function listAgents(ctx: UserContext): Promise<Reply<Routes['listAgents']>> {
  const { tenantId } = ctx.tenant
  const nowMs = ctx.app.clock().getTime()
  const since = startOf(nowMs, MONTH_MS)
  const [begun, known, aside, waiting] = await Promise.all([
    inRead(ctx, (sql) => sumSessions(sql, { tenantId, since })),
    inRead(ctx, (sql) => listKnownAgents(sql, tenantId)),
    inRead(ctx, (sql) => countCapturesAside(sql, tenantId)),
    inRead(ctx, (sql) => countWaitingCaptures(sql, tenantId)),
  ])
  // A tenant may have a new agent with each session: all that follows is asked for these alone.
  const names = [...new Set([...begun, ...known, ...aside, ...waiting].map(({ agent }) => agent))]
  const [activityOf, attachments] = await Promise.all([
    loadActivity(ctx, { nowMs, since, begun, agents: names }),
    inRead(ctx, (sql) => listAttachments(sql, tenantId, names)),
  ])
  const learnedOf = rowOf(known)
  const asideOf = rowOf(aside)
  const waitingOf = rowOf(waiting)
  const attachmentsOf = byAgent(attachments)
  const agents = names.map((agent) => {
    const learned = learnedOf.get(agent)
    const { calls, ...own } = activityOf(agent)
    return {
      agent,
      ...own,
      calls: { ...calls, observed: learned?.observed ?? 0, ungoverned: learned?.ungoverned ?? 0 },
      set_aside: { captures: asideOf.get(agent)?.captures ?? 0, reason: asideOf.get(agent)?.reason ?? null },
      waiting_captures: waitingOf.get(agent)?.captures ?? 0,
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
  return {
    agents: newestFirst.slice(0, MOST),
    total: await inRead(ctx, (sql) => countAgents(sql, tenantId, since)),
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

type Activity = Pick<AgentRow, 'since' | 'sessions' | 'last_seen' | 'coverage' | 'health'> & {
  readonly calls: Pick<AgentRow['calls'], 'enforced'>
}

interface AskedAgents {
  readonly nowMs: number
  readonly since: Date
  readonly begun: Awaited<ReturnType<typeof sumSessions>>
  readonly agents: readonly string[]
}

/** What each agent did in the last 30 days. */
async function loadActivity(
  ctx: UserContext,
  { nowMs, since, begun, agents }: AskedAgents,
): Promise<(agent: string) => Activity> {
  const { tenantId } = ctx.tenant
  const [{ byAgent: decided }, captured, troubled, unanswered, seen] = await Promise.all([
    inRead(ctx, (sql) => sumDecisions(sql, { tenantId, since, spanSeconds: (2 * MONTH_MS) / 1_000, agents })),
    inRead(ctx, (sql) => sumCapturedCalls(sql, { tenantId, since })),
    inRead(ctx, (sql) => countTroubledSessions(sql, { tenantId, since, agents })),
    inRead(ctx, (sql) => countUnansweredByAgent(sql, tenantId, agents)),
    inRead(ctx, (sql) => listLastSeen(sql, tenantId, agents)),
  ])
  const begunOf = rowOf(begun)
  const decidedOf = byAgent(decided)
  const capturedOf = rowOf(captured)
  const troubledOf = byAgent(troubled)
  const unansweredOf = rowOf(unanswered)
  const seenOf = rowOf(seen)
  return (agent) => {
    const seenAt = seenOf.get(agent)?.at ?? null
    const calls = decidedOf.get(agent) ?? []
    const enforced = callsOf(calls)
    const blocked = callsOf(calls.filter(({ reason }) => reason !== ''))
    const inState = (status: string) => troubledOf.get(agent)?.find((row) => row.status === status)?.sessions ?? 0
    const [recovering, compromised, killed] = [inState('RECOVERING'), inState('COMPROMISED'), inState('KILLED')]
    const waiting = unansweredOf.get(agent)?.calls ?? 0
    const isTroubled = recovering + compromised + killed + waiting > 0 || blocked > enforced * MOST_BLOCKED
    const isInactive = seenAt === null || nowMs - seenAt.getTime() > INACTIVE_AFTER_MS
    return {
      since: since.toISOString(),
      sessions: begunOf.get(agent)?.sessions ?? 0,
      last_seen: seenAt?.toISOString() ?? null,
      calls: { enforced },
      coverage: coverageOf(calls, capturedOf.get(agent)),
      health: {
        status: isTroubled ? 'degraded' : isInactive ? 'inactive' : 'healthy',
        blocked_calls: blocked,
        unanswered_calls: waiting,
        ...(unansweredOf.get(agent)?.more === true && { unanswered_more: true }),
        recovering,
        compromised,
        killed,
      },
    }
  }
}

const callsOf = (rows: readonly { calls: number }[]): number => rows.reduce((sum, { calls }) => sum + calls, 0)
