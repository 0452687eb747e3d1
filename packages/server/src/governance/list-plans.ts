import type { Input, PlanDetail, Reply, Routes } from '@countersign/protocol'
import { pageByTime, readTimeCursor } from '../base/time-cursor.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { listGovernancePlans } from '../store/governance/governance-plans.js'
import { detailOf } from './detail-of.js'
import { planRow } from './plan-detail.js'

/** Plans newest first, page by page. */
export async function listPlans(
  ctx: UserContext,
  { query }: Input<Routes['listPlans']>,
): Promise<Reply<Routes['listPlans']>> {
  const plans = await inRead(ctx, (sql) =>
    listGovernancePlans(sql, {
      tenantId: ctx.tenant.tenantId,
      agent: query.agent ?? null,
      environment: query.environment ?? null,
      state: query.state ?? null,
      below: readTimeCursor(query.cursor),
      limit: query.limit + 1,
    }),
  )
  return pageByTime(plans, query.limit, { view: planRow, id: ({ planId }) => planId })
}

/** One plan with its files and what it would change. */
export async function loadPlan(ctx: UserContext, { params }: Input<Routes['loadPlan']>): Promise<PlanDetail> {
  return detailOf(ctx, params.plan_id)
}
