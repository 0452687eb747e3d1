import type { BlockReason, Input, OverviewView, Reply, Routes } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { sumDecisions, sumSessions } from '../store/dashboard/decision-counts.js'
import { listRecentBlocks } from '../store/dashboard/recent-blocks.js'
import { countTroubles } from '../store/dashboard/session-list.js'
import { countUnansweredCalls } from '../store/dashboard/unanswered-calls.js'
import { listDriftingPlans } from '../store/governance/plan-use.js'

const MINUTE = 60
const RECENT_BLOCKS = 10
const DRIFTING_PLANS = 5
const HOUR = 3_600

/** How far back each range looks, and into how many equal spans it is cut. */
const RANGES = {
  '1h': { spans: 60, spanSeconds: MINUTE },
  '24h': { spans: 96, spanSeconds: 15 * MINUTE },
  '7d': { spans: 84, spanSeconds: 2 * HOUR },
  '30d': { spans: 90, spanSeconds: 8 * HOUR },
} as const

/** What was decided lately, by whom it was asked, and what needs attention. */
export async function loadOverview(
  ctx: UserContext,
  { query }: Input<Routes['loadOverview']>,
): Promise<Reply<Routes['loadOverview']>> {
  const { spans, spanSeconds } = RANGES[query.range]
  const spanMs = spanSeconds * 1_000
  const since = new Date((Math.floor(ctx.app.clock().getTime() / spanMs) - spans + 1) * spanMs)
  const { tenantId } = ctx.tenant
  const busiest = inRead(ctx, (sql) => sumSessions(sql, { tenantId, since }))
  const [agents, { bySpan, byAgent }, troubles, blocks, unanswered, drifting] = await Promise.all([
    busiest,
    busiest.then((rows) =>
      inRead(ctx, (sql) => sumDecisions(sql, { tenantId, since, spanSeconds, agents: rows.map(({ agent }) => agent) })),
    ),
    inRead(ctx, (sql) => countTroubles(sql, { tenantId, since })),
    inRead(ctx, (sql) => listRecentBlocks(sql, tenantId, RECENT_BLOCKS)),
    inRead(ctx, (sql) => countUnansweredCalls(sql, tenantId)),
    inRead(ctx, (sql) => listDriftingPlans(sql, tenantId, DRIFTING_PLANS)),
  ])
  return {
    range: query.range,
    span_seconds: spanSeconds,
    spans: Array.from({ length: spans }, (_, index) => ({
      at: new Date(since.getTime() + index * spanMs).toISOString(),
      ...tally(bySpan.filter(({ span }) => span === index)),
    })),
    totals: {
      ...pick(tally(bySpan)),
      sessions: agents[0]?.allSessions ?? 0,
      active_sessions: troubles.activeSessions,
      calls_in_doubt: troubles.callsInDoubt,
      unanswered_calls: unanswered.calls,
      killed: troubles.killed,
      compromised: troubles.compromised,
    },
    oldest_unanswered: unanswered.oldest?.toISOString() ?? null,
    ...(unanswered.more && { unanswered_more: true }),
    drifting_plans: drifting.map(({ planId, ...plan }) => ({ plan_id: planId, ...plan })),
    agents_total: agents[0]?.allAgents ?? 0,
    reasons: Object.entries(tally(bySpan).by_reason)
      .map(([reason, count]) => ({ reason: reason as BlockReason, count }))
      .sort((a, b) => b.count - a.count),
    agents: agents.map(({ agent, sessions, lastSeen }) => ({
      agent: agent === '' ? null : agent,
      sessions,
      ...pick(tally(byAgent.filter((decision) => decision.agent === agent))),
      last_seen: lastSeen.toISOString(),
    })),
    recent_blocks: blocks.map(({ at, sessionId, agent, seq, index, toolName, reason }) => ({
      ...{ at: at.toISOString(), session_id: sessionId, agent, seq, index, tool_name: toolName, reason },
    })),
  }
}

const pick = ({ allowed, blocked }: { allowed: number; blocked: number }) => ({ allowed, blocked })

function tally(
  decisions: readonly { readonly reason: string; readonly calls: number }[],
): Omit<OverviewView['spans'][number], 'at'> {
  const byReason = new Map<string, number>()
  let allowed = 0
  let blocked = 0
  for (const { reason, calls } of decisions) {
    if (reason === '') allowed += calls
    else {
      blocked += calls
      byReason.set(reason, (byReason.get(reason) ?? 0) + calls)
    }
  }
  return { allowed, blocked, by_reason: Object.fromEntries(byReason) }
}
