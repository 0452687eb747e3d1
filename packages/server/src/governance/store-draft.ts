import type { Environment, PlanDetail } from '@countersign/protocol'
import { makeId } from '../base/crypto/secrets.js'
import { audit } from '../context/audit.js'
import type { Context } from '../context/context.js'
import type { CompiledPack } from '../context/tasks.js'
import { inTransaction } from '../context/work.js'
import { storeCustomerContracts } from '../store/captures/learned-tools.js'
import {
  findOpenDraft,
  type GovernancePlan,
  insertGovernancePlan,
  type PlanFile,
} from '../store/governance/governance-plans.js'
import { storeAndLockPlan } from '../store/governance/plans.js'
import { customerContracts } from './customer-contracts.js'
import { detailOf } from './detail-of.js'

export interface NewDraft {
  readonly agent: string
  readonly environment: Environment
  readonly files: readonly PlanFile[]
  /** The files, compiled. */
  readonly pack: CompiledPack
  readonly origin: GovernancePlan['origin']
  readonly createdBy: string | null
}

/** Stores a pack that compiles as a draft. The same pack again is the same draft, as long as it is undecided. */
export async function storeDraft(ctx: Context, draft: NewDraft): Promise<PlanDetail> {
  const { agent, environment, files, pack, origin, createdBy } = draft
  const { tenantId } = ctx.tenant
  const { hash: compiledHash, compiled, contracts } = pack
  const planId = await inTransaction(ctx, async (tx) => {
    // A reply may have been lost: what is sent again waits here for the first to be stored, and then finds it.
    await storeAndLockPlan(tx, { tenantId, compiledHash, compiled })
    const open = await findOpenDraft(tx, { tenantId, agent, environment, compiledHash, origin, files })
    if (open !== null) return open
    const planId = makeId(ctx.app.random, 'plan')
    const scope = { tenantId, planId, agent, environment }
    await insertGovernancePlan(tx, { ...scope, compiledHash, origin, files, contracts, createdBy })
    if (origin === 'submitted') {
      await storeCustomerContracts(tx, { tenantId, agent, planId, by: createdBy }, customerContracts(files, pack))
    }
    await audit(tx, ctx, { action: 'plan_submitted', subject: planId, detail: `${agent} in ${environment}` })
    return planId
  })
  return detailOf(ctx, planId)
}
