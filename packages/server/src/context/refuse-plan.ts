import { ApiError } from '../base/api-error.js'
import type { Context } from './context.js'
import { chargeForTime } from './work.js'

/** The refusal of a plan that the request brought. It is remembered, and what it took counts as further requests. */
export async function refusePlan(ctx: Context, { hash, problems, most, ms }: Refusal): Promise<ApiError> {
  const refusal = new ApiError('PLAN_INVALID', { detail: problems[0], problems: problems.slice(0, most) })
  const { tenantId } = ctx.tenant
  const bytes = JSON.stringify(refusal.extras).length + STACK_BYTES
  ctx.app.refusedPlans.remember(nameOf(ctx, hash), refusal, { owner: tenantId, bytes })
  await chargeForTime(ctx, ms)
  return refusal
}

export interface Refusal {
  readonly hash: string
  /** The first is the detail; the list is cut to `most`. */
  readonly problems: readonly string[]
  readonly most: number
  /** How long it took to find out. */
  readonly ms: number
}

/** Throws where the same plan was refused before. */
export function requireNotRefused(ctx: Context, hash: string): void {
  const known = ctx.app.refusedPlans.find(nameOf(ctx, hash))
  if (known !== undefined) throw known
}

/** By tenant: nobody learns what is wrong with the plan of another. */
const nameOf = ({ tenant }: Context, hash: string): string => `${tenant.tenantId} ${hash}`

/** About what an error takes beside its texts. */
const STACK_BYTES = 1_000
