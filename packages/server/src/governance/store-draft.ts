import type { Environment, PlanDetail } from '@countersign/protocol'
import { makeId } from '../base/crypto/secrets.js'
import { audit } from '../context/audit.js'
import type { Context } from '../context/context.js'
import { inTransaction } from '../context/work.js'
import { storeCustomerContracts } from '../store/captures/learned-tools.js'
import { type GovernancePlan, insertGovernancePlan, type PlanFile } from '../store/governance/governance-plans.js'
import { storePlan } from '../store/governance/plans.js'
import { customerContracts } from './customer-contracts.js'
import { detailOf } from './detail-of.js'
import type { CompiledPack } from './read-pack.js'

export interface NewDraft {
  readonly agent: string
  readonly environment: Environment
  readonly files: readonly PlanFile[]
  /** The files, compiled. */
  readonly pack: CompiledPack
  readonly origin: GovernancePlan['origin']
  readonly createdBy: string | null
}

/** Stores a pack that compiles as a draft. */
export async function storeDraft(ctx: Context, draft: NewDraft): Promise<PlanDetail> {
  const { agent, environment, files, pack, origin, createdBy } = draft
  const planId = makeId(ctx.app.random, 'plan')
  const { tenantId } = ctx.tenant
  await inTransaction(ctx, async (tx) => {
    await storePlan(tx, { tenantId, compiledHash: pack.compiled_hash, compiledSession: pack.compiled_session })
    await insertGovernancePlan(tx, {
      tenantId,
      planId,
      agent,
      environment,
      compiledHash: pack.compiled_hash,
      origin,
      files,
      contracts: pack.compiled_session.contracts.length,
      createdBy,
    })
    if (origin === 'submitted') {
      await storeCustomerContracts(tx, { tenantId, agent, planId, by: createdBy }, customerContracts(files, pack))
    }
    await audit(tx, ctx, { action: 'plan_submitted', subject: planId, detail: `${agent} in ${environment}` })
  })
  return detailOf(ctx, planId)
}
