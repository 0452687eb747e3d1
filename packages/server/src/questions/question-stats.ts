import type { Input, Reply, Routes } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { readClock } from '../store/clock.js'
import { countWaiting, listPersonStats, listRuleStats } from '../store/questions/question-stats.js'

/** Whoever says yes to nearly everything reads nothing any more: a rule that asks so asks too much. */
const TIRES = { answers: 50, share: 0.97 }
const DAY_MS = 86_400_000

/** How often each rule asks and each person answers, and what they say. */
export async function questionStats(
  ctx: UserContext,
  { query }: Input<Routes['questionStats']>,
): Promise<Reply<Routes['questionStats']>> {
  const { tenantId } = ctx.tenant
  const period = { tenantId, days: query.days }
  const now = await inRead(ctx, readClock)
  const rules = await inRead(ctx, (sql) => listRuleStats(sql, period))
  const people = await inRead(ctx, (sql) => listPersonStats(sql, period))
  return {
    since: new Date(now.getTime() - query.days * DAY_MS).toISOString(),
    ...(await inRead(ctx, (sql) => countWaiting(sql, tenantId))),
    rules: rules.map(({ rule, toolName, agent, reason, medianSeconds, ...counts }) => {
      const decided = counts.approved + counts.denied
      const share = shareOf(counts.approved, decided)
      return {
        rule,
        tool_name: toolName,
        agent,
        reason: reason ?? '',
        ...counts,
        approved_share: share,
        median_seconds: medianSeconds,
        tires: decided >= TIRES.answers && share !== null && share > TIRES.share,
      }
    }),
    people: people.map(({ userId, name, answers, approved, medianSeconds }) => ({
      user_id: userId,
      name,
      answers,
      approved_share: shareOf(approved, answers),
      median_seconds: medianSeconds,
    })),
  }
}

const shareOf = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole)
