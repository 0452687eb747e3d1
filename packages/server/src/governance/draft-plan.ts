import type { Input, PlanDetail, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { UserContext } from '../context/context.js'
import { learnedDrafts } from './learned-drafts.js'
import { learnedPack } from './learned-pack.js'
import { storeDraft } from './store-draft.js'

/**
 * Makes a draft of what was learned of an agent, with the contracts that people wrote in their place. Tools that were left
 * out, because more was learned than is read at once, are blockers of the draft until their contracts are written.
 */
export async function draftPlan(ctx: UserContext, { body }: Input<Routes['draftPlan']>): Promise<PlanDetail> {
  const { alpha, ...scope } = body
  const learning = await learnedDrafts(ctx, { agent: body.agent, measure: { alpha: alpha ?? null } })
  if (learning === null || learning.drafts.length + learning.written.size === 0) {
    throw new ApiError('NOT_FOUND', { detail: 'nothing has been captured from this agent yet' })
  }
  const pack = await learnedPack(learning)
  return storeDraft(ctx, { ...scope, ...pack, origin: 'learned', createdBy: ctx.signIn.email })
}
