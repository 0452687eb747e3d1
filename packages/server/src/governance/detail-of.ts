import { planRates } from '@countersign/engine'
import type { PlanDetail } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import { inRead } from '../context/work.js'
import { findGovernancePlan, type GovernancePlan } from '../store/governance/governance-plans.js'
import { countPlanUse } from '../store/governance/plan-use.js'
import { findBacktests } from '../store/runs/runs.js'
import { comparePlan, planDetail } from './plan-detail.js'
import { readPack } from './read-pack.js'

/** A stored plan as people see it. */
export async function detailOf(ctx: Context, planId: string): Promise<PlanDetail> {
  const plan = await inRead(ctx, (sql) => findGovernancePlan(sql, ctx.tenant.tenantId, planId))
  if (plan === null) throw new ApiError('NOT_FOUND')
  const pack = await readPack(plan.files)
  const wasApproved = plan.state === 'approved' || plan.state === 'superseded'
  const comparison = await comparePlan(ctx, plan, pack, wasApproved ? plan.decidedAt : null)
  const use = plan.state === 'approved' && plan.decidedAt !== null ? await useOf(ctx, plan, plan.decidedAt) : null
  const backtests = await inRead(ctx, (sql) => findBacktests(sql, { tenantId: ctx.tenant.tenantId, ...plan }))
  return planDetail(plan, comparison, planRates(pack.surprise, use), backtests)
}

async function useOf(ctx: Context, { agent, environment, compiledHash }: GovernancePlan, since: Date) {
  const plan = { tenantId: ctx.tenant.tenantId, agent, environment, compiledHash, since }
  return { ...(await inRead(ctx, (sql) => countPlanUse(sql, plan))), since }
}
