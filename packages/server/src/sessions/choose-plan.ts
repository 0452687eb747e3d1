import type { Plan } from '@countersign/engine'
import type { CompiledSession, Input, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import { prepareSentPlan } from '../context/prepare-sent-plan.js'
import { inFind } from '../context/work.js'
import { claimPlan, findApprovedHash, findPlan } from '../store/governance/plans.js'

export interface ChosenPlan {
  readonly plan: Plan
  readonly source: 'approved' | 'client'
  /** The plan itself where the client does not have it; null where it does. */
  readonly unsent: CompiledSession | null
  /** The plan that came with the request, as JSON to be stored with the session; null where it is stored already. */
  readonly upload: string | null
}

type Body = Input<Routes['createSession']>['body']

/** The plan in force for the agent and environment; where there is none, the one that the client names or sends. */
export async function choosePlan(ctx: Context, body: Body): Promise<ChosenPlan> {
  const { agent, environment } = body
  const scope =
    agent === undefined || environment === undefined ? null : { tenantId: ctx.tenant.tenantId, agent, environment }
  const approved = scope === null ? null : await inFind(ctx, (sql) => findApprovedHash(sql, scope))
  return approved === null ? clientPlan(ctx, body) : approvedPlan(ctx, body, approved)
}

async function approvedPlan(ctx: Context, body: Body, compiledHash: string): Promise<ChosenPlan> {
  const { tenantId } = ctx.tenant
  const plan = await ctx.app.plans.ofSession((fn) => inFind(ctx, fn), { tenantId, compiledHash }, 0)
  const sent = body.compiled_session === undefined ? body.compiled_hash : (await uploaded(ctx, body)).hash
  if (sent !== undefined && sent !== compiledHash) throw new ApiError('PLAN_PINNED', { compiled_hash: compiledHash })
  const unsent = sent === undefined ? await planForClient(ctx, plan) : null
  return { plan, source: 'approved', unsent, upload: null }
}

async function clientPlan(ctx: Context, body: Body): Promise<ChosenPlan> {
  const { tenantId } = ctx.tenant
  if (body.compiled_session !== undefined) {
    const plan = await uploaded(ctx, body)
    return { plan, source: 'client', unsent: null, upload: JSON.stringify(body.compiled_session) }
  }
  if (body.compiled_hash === undefined) {
    throw new ApiError('PLAN_UNKNOWN', {
      detail: 'this agent has no approved plan; send compiled_hash or compiled_session',
    })
  }
  // That another tenant has it, or that it is cached, does not count: each tenant uploads its own.
  const { compiled_hash: compiledHash } = body
  // Before it is prepared: otherwise it could be deleted meanwhile. To claim it again changes nothing.
  if (!(await inFind(ctx, (sql) => claimPlan(sql, tenantId, compiledHash)))) throw new ApiError('PLAN_UNKNOWN')
  const plan = await ctx.app.plans.ofSession((fn) => inFind(ctx, fn), { tenantId, compiledHash }, 0)
  return { plan, source: 'client', unsent: null, upload: null }
}

/** The plan itself, for a client that does not have it. */
export const planForClient = (ctx: Context, plan: Plan): Promise<CompiledSession | null> =>
  inFind(ctx, (sql) => findPlan(sql, ctx.tenant.tenantId, plan.hash))

/** Checked and hashed here again, never recompiled. */
async function uploaded(ctx: Context, { compiled_session, compiled_hash }: Body): Promise<Plan> {
  const plan = await prepareSentPlan(ctx, compiled_session as CompiledSession)
  if (compiled_hash !== undefined && compiled_hash !== plan.hash) {
    throw new ApiError('PLAN_HASH_MISMATCH', { compiled_hash: plan.hash })
  }
  return plan
}
