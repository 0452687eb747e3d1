import type { Input, PlanDetail, Routes } from '@countersign/protocol'
import type { Context } from '../context/context.js'
import { readPack } from './read-pack.js'
import { storeDraft } from './store-draft.js'

/** Takes a contract pack as a draft. It enforces nothing until a person approves it. */
export async function submitPlan(ctx: Context, { body }: Input<Routes['submitPlan']>): Promise<PlanDetail> {
  const pack = await readPack(body.files)
  return storeDraft(ctx, { ...body, pack, origin: 'submitted', createdBy: null })
}
