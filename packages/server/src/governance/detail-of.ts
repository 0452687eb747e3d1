import type { PlanDetail } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import { findGovernancePlan } from '../store/governance/governance-plans.js'
import { comparePlan, planDetail } from './plan-detail.js'
import { readPack } from './read-pack.js'

/** A stored plan as people see it. */
export async function detailOf(ctx: Context, planId: string): Promise<PlanDetail> {
  const plan = await findGovernancePlan(ctx.app.database.sql, ctx.tenant.tenantId, planId)
  if (plan === null) throw new ApiError('NOT_FOUND')
  const pack = await readPack(ctx, plan.files)
  const wasApproved = plan.state === 'approved' || plan.state === 'superseded'
  return planDetail(plan, await comparePlan(ctx, plan, pack, wasApproved ? plan.decidedAt : null))
}
