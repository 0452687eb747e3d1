import type { Input, PlanDetail, Routes } from '@countersign/protocol'
import { ApiError } from '../../api-error.js'
import type { UserContext } from '../../context.js'
import { asCustomer, customerContracts } from '../../governance/customer-contracts.js'
import { detailOf } from '../../governance/detail-of.js'
import { readPack } from '../../governance/read-pack.js'
import { findGovernancePlan, replaceFiles } from '../../store/governance-plans.js'
import { keepCustomerContracts } from '../../store/learned-tools.js'
import { keepPlan } from '../../store/plans.js'

/** Replaces the files of a draft. What a person changed is theirs: learning does not touch it again. */
export async function editPlan(ctx: UserContext, { params, body }: Input<Routes['editPlan']>): Promise<PlanDetail> {
  const { tenantId, email } = ctx
  const plan = await findGovernancePlan(ctx.sql, tenantId, params.plan_id)
  if (plan === null) throw new ApiError('NOT_FOUND')
  const before = new Map(plan.files.map(({ file, text }) => [file, text]))
  const files = body.files.map((given) => (before.get(given.file) === given.text ? given : asCustomer(given)))
  const pack = await readPack(files)
  await ctx.transaction(async (tx) => {
    await keepPlan(tx, { tenantId, compiledHash: pack.compiled_hash, compiledSession: pack.compiled_session })
    const contracts = pack.compiled_session.contracts.length
    const change = { tenantId, planId: plan.planId, compiledHash: pack.compiled_hash, files, contracts }
    if (!(await replaceFiles(tx, change))) throw new ApiError('PLAN_DECIDED', { state: plan.state })
    const { agent, planId } = plan
    await keepCustomerContracts(tx, { tenantId, agent, planId, by: email }, customerContracts(files, pack))
  })
  return detailOf(ctx, plan.planId)
}
