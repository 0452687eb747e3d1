import type { Plan } from '@countersign/engine'
import type { CompiledSession } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context } from './context.js'

const MAX_PROBLEMS = 20

/** Prepares a plan that a request brought, or 400. */
export async function prepareSentPlan({ app, tenant }: Context, compiled: CompiledSession): Promise<Plan> {
  const prepared = await app.plans.prepare(compiled, tenant.tenantId)
  if (prepared.ok) return prepared.plan
  const { problems } = prepared
  throw new ApiError('PLAN_INVALID', { detail: problems[0], problems: problems.slice(0, MAX_PROBLEMS) })
}
