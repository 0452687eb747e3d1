import type { Input, PlanDetail, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { audit } from '../context/audit.js'
import type { UserContext } from '../context/context.js'
import { inTransaction } from '../context/work.js'
import { answererProblems } from '../questions/require-answerers.js'
import { dropEarlierContracts } from '../store/captures/learned-tools.js'
import { approveGovernancePlan } from '../store/governance/governance-plans.js'
import { findBacktests, type PlanBacktests } from '../store/runs/runs.js'
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
  const unanswerable = await answererProblems(ctx, plan.compiled_hash)
  if (unanswerable.length > 0) throw new ApiError('PLAN_BLOCKED', { blockers: unanswerable })
  const { tenantId, email } = ctx.signIn
  const { agent, environment, compiled_hash: compiledHash } = plan
  const approved = await inTransaction(ctx, async (tx) => {
    const review = { tenantId, planId: plan.plan_id, agent, environment, compiledHash, by: email, why: body.why }
    if (!(await approveGovernancePlan(tx, review))) return false
    await dropEarlierContracts(tx, { tenantId, agent, planId: plan.plan_id })
    const evidence = evidenceWords(await findBacktests(tx, { tenantId, compiledHash, agent }))
    await audit(tx, ctx, { action: 'plan_approved', subject: plan.plan_id, detail: `${body.why} (${evidence})` })
    return true
  })
  const decided = await detailOf(ctx, plan.plan_id)
  if (!approved && decided.plan.state === 'draft') throw changed(decided.plan)
  if (!approved && decided.plan.state !== 'approved') throw new ApiError('PLAN_DECIDED', { state: decided.plan.state })
  return decided
}

/** What was known of the plan's effect when it was approved: its newest finished backtest. */
function evidenceWords({ finished, isUnderWay }: PlanBacktests): string {
  if (finished === null) return `no backtest had finished${isUnderWay ? '; one was under way' : ''}`
  const { runId, sessions, sessionsPassed, newlyAllowed, newlyBlocked } = finished
  const figures = [
    `sessions that would change: ${sessions - sessionsPassed} of ${sessions}`,
    `blocked calls that would run: ${newlyAllowed}`,
    `allowed calls that would be blocked: ${newlyBlocked}`,
    ...(isUnderWay ? ['another backtest was under way'] : []),
  ]
  return `backtest ${runId}; ${figures.join('; ')}`
}

const changed = ({ compiled_hash }: PlanDetail['plan']): ApiError => new ApiError('PLAN_CHANGED', { compiled_hash })
