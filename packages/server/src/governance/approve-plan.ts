import type { Input, PlanDetail, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { audit } from '../context/audit.js'
import type { UserContext } from '../context/context.js'
import { inFind, inTransaction } from '../context/work.js'
import { dropEarlierContracts } from '../store/captures/learned-tools.js'
import { approveGovernancePlan } from '../store/governance/governance-plans.js'
import { findResult } from '../store/runs/runs.js'
import { detailOf } from './detail-of.js'

/** Approves a draft without blockers: what was reviewed is what the SDK attaches, by hash. Repeated, it gets the same reply. */
export async function approvePlan(
  ctx: UserContext,
  { params, body }: Input<Routes['approvePlan']>,
): Promise<PlanDetail> {
  const { plan, blockers } = await detailOf(ctx, params.plan_id)
  if (body.compiled_hash !== undefined && body.compiled_hash !== plan.compiled_hash) throw changed(plan)
  if (plan.state === 'approved') return detailOf(ctx, plan.plan_id)
  if (plan.state !== 'draft') throw new ApiError('PLAN_DECIDED', { state: plan.state })
  if (blockers.length > 0) throw new ApiError('PLAN_BLOCKED', { blockers: blockers.map(({ message }) => message) })
  const { tenantId, email } = ctx.signIn
  const detail = body.run_id === undefined ? body.why : `${body.why} (${await citedRun(ctx, body.run_id, plan)})`
  const { agent, environment, compiled_hash: compiledHash } = plan
  const approved = await inTransaction(ctx, async (tx) => {
    const review = { tenantId, planId: plan.plan_id, agent, environment, compiledHash, by: email, why: body.why }
    if (!(await approveGovernancePlan(tx, review))) return false
    await dropEarlierContracts(tx, { tenantId, agent, planId: plan.plan_id })
    await audit(tx, ctx, { action: 'plan_approved', subject: plan.plan_id, detail })
    return true
  })
  const decided = await detailOf(ctx, plan.plan_id)
  if (!approved && decided.plan.state === 'draft') throw changed(decided.plan)
  if (!approved && decided.plan.state !== 'approved') throw new ApiError('PLAN_DECIDED', { state: decided.plan.state })
  return decided
}

/** A finished backtest of exactly this plan, in words. */
async function citedRun(ctx: UserContext, runId: string, plan: PlanDetail['plan']): Promise<string> {
  const result = await inFind(ctx, (sql) => findResult(sql, ctx.tenant.tenantId, runId))
  if (result === null || result.compiledHash !== plan.compiled_hash) {
    throw new ApiError('INVALID_REQUEST', {
      detail: 'body.run_id: not a finished backtest of this version of the plan',
    })
  }
  const { sessions, sessionsPassed } = result
  return `backtest ${runId}: ${sessions - sessionsPassed} of ${sessions} sessions would change`
}

const changed = ({ compiled_hash }: PlanDetail['plan']): ApiError => new ApiError('PLAN_CHANGED', { compiled_hash })
