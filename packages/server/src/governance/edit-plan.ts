import type { Input, PlanDetail, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { audit } from '../context/audit.js'
import type { UserContext } from '../context/context.js'
import { inFind, inTransaction } from '../context/work.js'
import { storeCustomerContracts } from '../store/captures/learned-tools.js'
import {
  findGovernancePlan,
  type GovernancePlan,
  type PlanFile,
  replaceFiles,
} from '../store/governance/governance-plans.js'
import { storePlan } from '../store/governance/plans.js'
import { asCustomer, customerContracts } from './customer-contracts.js'
import { detailOf } from './detail-of.js'
import { hashOfFiles } from './plan-detail.js'
import { readPack } from './read-pack.js'

/** Replaces the files of a draft. What a person changed is theirs: learning does not touch it again. */
export async function editPlan(ctx: UserContext, { params, body }: Input<Routes['editPlan']>): Promise<PlanDetail> {
  const { tenantId, email } = ctx.signIn
  const find = (planId: string) => inFind(ctx, (sql) => findGovernancePlan(sql, tenantId, planId))
  const plan = await find(params.plan_id)
  if (plan === null) throw new ApiError('NOT_FOUND')
  if ((body.compiled_hash ?? plan.compiledHash) !== plan.compiledHash) throw refusalOf(plan)
  if (body.files_hash !== undefined && body.files_hash !== hashOfFiles(plan.files)) throw refusalOf(plan)
  const before = new Map(plan.files.map(({ file, text }) => [file, text]))
  const files = body.files.map((given) => (before.get(given.file) === given.text ? given : asCustomer(given)))
  const pack = await readPack(files)
  const { agent, planId, files: replaces } = plan
  const { hash: compiledHash, compiled, contracts } = pack
  const isStored = await inTransaction(ctx, async (tx) => {
    // The draft before the plan, as an approval takes them: in another order each would wait for the other.
    const change = { tenantId, planId, replaces, compiledHash, files, contracts }
    if (!(await replaceFiles(tx, change))) return false
    await storePlan(tx, { tenantId, compiledHash, compiled })
    await storeCustomerContracts(tx, { tenantId, agent, planId, by: email }, customerContracts(files, pack))
    await audit(tx, ctx, { action: 'plan_edited', subject: planId, detail: editWords(plan.files, files) })
    return true
  })
  if (!isStored) throw refusalOf((await find(planId)) ?? plan)
  return detailOf(ctx, planId)
}

/** Which files were changed, added or removed. */
function editWords(before: readonly PlanFile[], after: readonly PlanFile[]): string {
  const [old, next] = [before, after].map((files) => new Map(files.map(({ file, text }) => [file, text])))
  const named = (verb: string, files: readonly PlanFile[]) =>
    files.length === 0 ? [] : [`${verb} ${files.map(({ file }) => file).join(', ')}`]
  const parts = [
    ...named(
      'changed',
      after.filter(({ file, text }) => old?.has(file) && old.get(file) !== text),
    ),
    ...named(
      'added',
      after.filter(({ file }) => !old?.has(file)),
    ),
    ...named(
      'removed',
      before.filter(({ file }) => !next?.has(file)),
    ),
  ]
  const words = parts.length === 0 ? 'nothing changed' : parts.join('; ')
  return words.length > MOST_WORDS ? `${words.slice(0, MOST_WORDS)}…` : words
}

const MOST_WORDS = 500

const refusalOf = ({ state, compiledHash }: GovernancePlan): ApiError =>
  state === 'draft'
    ? new ApiError('PLAN_CHANGED', { compiled_hash: compiledHash })
    : new ApiError('PLAN_DECIDED', { state })
