import type { Input, Reply, Routes } from '@countersign/protocol'
import type { UserContext } from '../../context.js'
import { planRow } from '../../governance/plan-detail.js'
import { listGovernancePlans } from '../../store/governance-plans.js'
import { pageByTime, readTimeCursor } from '../../time-cursor.js'

/** Plans newest first, page by page. */
export async function listPlans(
  ctx: UserContext,
  { query }: Input<Routes['listPlans']>,
): Promise<Reply<Routes['listPlans']>> {
  const plans = await listGovernancePlans(ctx.sql, {
    tenantId: ctx.tenantId,
    agent: query.agent ?? null,
    environment: query.environment ?? null,
    state: query.state ?? null,
    below: readTimeCursor(query.cursor),
    limit: query.limit + 1,
  })
  return pageByTime(plans, query.limit, { view: planRow, id: ({ planId }) => planId })
}
