import type { Input, PlanDetail, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { audit } from '../context/audit.js'
import type { UserContext } from '../context/context.js'
import { inTransaction } from '../context/work.js'
import { dropCustomerContracts } from '../store/captures/learned-tools.js'
import { rejectGovernancePlan } from '../store/governance/governance-plans.js'
import { detailOf } from './detail-of.js'

/** Rejects a draft, with who, when and why. What people wrote in it counts no more. */
export async function rejectPlan(ctx: UserContext, { params, body }: Input<Routes['rejectPlan']>): Promise<PlanDetail> {
  const { plan } = await detailOf(ctx, params.plan_id)
  if (plan.state === 'rejected') return detailOf(ctx, plan.plan_id)
  const { tenantId, email } = ctx.signIn
  const rejected = await inTransaction(ctx, async (tx) => {
    if (!(await rejectGovernancePlan(tx, { tenantId, planId: plan.plan_id, by: email, why: body.why }))) return false
    await dropCustomerContracts(tx, { tenantId, agent: plan.agent, planId: plan.plan_id })
    await audit(tx, ctx, { action: 'plan_rejected', subject: plan.plan_id, detail: body.why })
    return true
  })
  const detail = await detailOf(ctx, plan.plan_id)
  if (!rejected && detail.plan.state !== 'rejected') throw new ApiError('PLAN_DECIDED', { state: detail.plan.state })
  return detail
}
