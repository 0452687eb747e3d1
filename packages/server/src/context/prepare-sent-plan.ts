import type { Plan } from '@countersign/engine'
import type { CompiledSession } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context } from './context.js'
import type { TaskThread } from './tasks.js'

const MAX_PROBLEMS = 20

/** Prepares a plan that a request brought, or 400. */
export async function prepareSentPlan({ app, tenant }: Context, compiled: CompiledSession): Promise<Plan> {
  const prepared = await app.plans.prepare(compiled, tenant.tenantId)
  if (prepared.ok) return prepared.plan
  const { problems } = prepared
  throw new ApiError('PLAN_INVALID', { detail: problems[0], problems: problems.slice(0, MAX_PROBLEMS) })
}

/** The thread takes a third of a second to start, and to load Cedar. At the start, nobody waits for it. */
export async function warmPlanThread(thread: TaskThread): Promise<void> {
  const text = 'policy: { cedar: "permit(principal, action, resource);" }'
  await thread.run('nobody', 'compilePack', [{ file: 'session.yaml', text }])
}
