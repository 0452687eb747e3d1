import type { BlockReason, Input, OverviewView, Reply, Routes } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { listLastSeen } from '../store/dashboard/agents.js'
import { sumCapturedCalls, sumDecisions, sumSessions } from '../store/dashboard/decision-counts.js'
import { listRecentBlocks } from '../store/dashboard/recent-blocks.js'
import { countTroubles } from '../store/dashboard/session-list.js'
import { countUnansweredCalls } from '../store/dashboard/unanswered-calls.js'
import { listDriftingPlans } from '../store/governance/plan-use.js'
import { coverageOf } from './figures/coverage.js'
import { HOUR_MS, MONTH_MS, startOf } from './figures/period.js'

const RECENT_BLOCKS = 10
const DRIFTING_PLANS = 5
const MINUTE_MS = 60_000

/** How far back each range looks, and how long the equal spans are into which it is cut. */
const RANGES = {
  '1h': { periodMs: HOUR_MS, spanMs: MINUTE_MS, grainMs: MINUTE_MS },
  '24h': { periodMs: 24 * HOUR_MS, spanMs: 15 * MINUTE_MS, grainMs: MINUTE_MS },
  '7d': { periodMs: 7 * 24 * HOUR_MS, spanMs: 2 * HOUR_MS, grainMs: HOUR_MS },
  '30d': { periodMs: MONTH_MS, spanMs: 8 * HOUR_MS, grainMs: HOUR_MS },
} as const

/** What was decided lately, by whom it was asked, and what needs attention. */
export async function loadOverview(
  ctx: UserContext,
  { query }: Input<Routes['loadOverview']>,
): Promise<Reply<Routes['loadOverview']>> {
  const { periodMs, spanMs, grainMs } = RANGES[query.range]
  const nowMs = ctx.app.clock().getTime()
  const since = startOf(nowMs, periodMs, grainMs)
  // Spans begin at the same times of a day however often the page asks; the first and the last one are not over the period.
  const spansFrom = new Date(Math.floor(since.getTime() / spanMs) * spanMs)
  const spans = Math.ceil((nowMs + 1 - spansFrom.getTime()) / spanMs)
  const spanSeconds = spanMs / 1_000
  const { tenantId } = ctx.tenant
  const busiest = inRead(ctx, (sql) => sumSessions(sql, { tenantId, since }))
  const named = busiest.then((rows) => rows.map(({ agent }) => agent))
  const [agents, { bySpan, byAgent }, captured, seen, troubles, blocks, unanswered, drifting] = await Promise.all([
    busiest,
    named.then((names) =>
      inRead(ctx, (sql) => sumDecisions(sql, { tenantId, since, spansFrom, spanSeconds, agents: names })),
    ),
    inRead(ctx, (sql) => sumCapturedCalls(sql, { tenantId, since })),
    named.then((names) => inRead(ctx, (sql) => listLastSeen(sql, tenantId, names))),
    inRead(ctx, (sql) => countTroubles(sql, { tenantId, since })),
    inRead(ctx, (sql) => listRecentBlocks(sql, tenantId, RECENT_BLOCKS)),
    inRead(ctx, (sql) => countUnansweredCalls(sql, tenantId)),
    inRead(ctx, (sql) => listDriftingPlans(sql, tenantId, DRIFTING_PLANS)),
  ])
  return {
    range: query.range,
    since: since.toISOString(),
    span_seconds: spanSeconds,
    spans: Array.from({ length: spans }, (_, index) => ({
      at: new Date(spansFrom.getTime() + index * spanMs).toISOString(),
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
    agents: agents.map(({ agent, sessions }) => {
      const decided = byAgent.filter((decision) => decision.agent === agent)
      return {
        agent,
        sessions,
        ...pick(tally(decided)),
        coverage: coverageOf(
          decided,
          captured.find((row) => row.agent === agent),
        ),
        last_seen: seen.find((row) => row.agent === agent)?.at?.toISOString() ?? null,
      }
    }),
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
