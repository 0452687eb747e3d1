import type { Input, PlanDetail, Routes } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { detailOf } from './detail-of.js'

/** One plan with its files and what it would change. */
export async function loadPlan(ctx: UserContext, { params }: Input<Routes['loadPlan']>): Promise<PlanDetail> {
  return detailOf(ctx, params.plan_id)
}
