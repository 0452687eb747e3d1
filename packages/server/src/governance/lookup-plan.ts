import type { Input, Reply, Routes } from '@countersign/protocol'
import type { Context } from '../context/context.js'
import { inRead } from '../context/work.js'
import { findPlansOf, type GovernancePlan } from '../store/governance/governance-plans.js'
import { findPlan } from '../store/governance/plans.js'

type Metadata = NonNullable<Reply<Routes['lookupPlan']>['approved']>

/** Says whether a plan is approved for an agent and environment, and returns it. */
export async function lookupPlan(
  ctx: Context,
  { query }: Input<Routes['lookupPlan']>,
): Promise<Reply<Routes['lookupPlan']>> {
  const { agent, environment } = query
  const { approved, draft } = await inRead(ctx, (sql) =>
    findPlansOf(sql, {
      tenantId: ctx.tenant.tenantId,
      agent,
      environment,
    }),
  )
  const compiled =
    approved === null ? null : await inRead(ctx, (sql) => findPlan(sql, ctx.tenant.tenantId, approved.compiledHash))
  return {
    agent,
    environment,
    status: approved !== null ? 'approved' : draft !== null ? 'draft' : 'none',
    compiled_session: compiled,
    compiled_hash: compiled === null ? null : (approved?.compiledHash ?? null),
    approved: approved === null ? null : metadataOf(approved),
    draft: draft === null ? null : metadataOf(draft),
  }
}

const metadataOf = (plan: GovernancePlan): Metadata => ({
  plan_id: plan.planId,
  compiled_hash: plan.compiledHash,
  created_at: plan.createdAt.toISOString(),
  approved_at: plan.state === 'approved' ? (plan.decidedAt?.toISOString() ?? null) : null,
  approved_by: plan.state === 'approved' ? plan.decidedBy : null,
  contracts: plan.contracts,
})
