import type { Input, Reply, Routes } from '@countersign/protocol'
import type { Context } from '../context/context.js'
import { comparePlan } from './plan-detail.js'
import { readPack } from './read-pack.js'

/** Compares a pack with the plan in force and stores nothing of it. */
export async function diffPlan(ctx: Context, { body }: Input<Routes['diffPlan']>): Promise<Reply<Routes['diffPlan']>> {
  const pack = await readPack(body.files)
  const { agent, environment } = body
  const { running, effectsBefore: _, ...comparison } = await comparePlan(ctx, { agent, environment }, pack)
  return { compiled_hash: pack.hash, running_hash: running?.compiledHash ?? null, ...comparison }
}
