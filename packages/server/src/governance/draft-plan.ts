import { askLess, type DecidedCall } from '@countersign/engine'
import type { Environment, Input, PlanDetail, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { UserContext } from '../context/context.js'
import { inFind, inRead } from '../context/work.js'
import { findGovernancePlan, findPlansOf } from '../store/governance/governance-plans.js'
import { listDecidedCalls } from '../store/questions/question-stats.js'
import { asCustomer } from './customer-contracts.js'
import { learnedDrafts } from './learned-drafts.js'
import { learnedPack } from './learned-pack.js'
import { readPack } from './read-pack.js'
import { storeDraft } from './store-draft.js'

export const draftPlan = (ctx: UserContext, { body }: Input<Routes['draftPlan']>): Promise<PlanDetail> =>
  draftLearned(ctx, { ...body, alpha: body.alpha ?? null })

/**
 * Makes a draft of what was learned of an agent, with the contracts that people wrote in their place. Tools that were left
 * out, because more was learned than is read at once, are blockers of the draft until their contracts are written.
 */
async function draftLearned(
  ctx: UserContext,
  { alpha, ...scope }: { readonly agent: string; readonly environment: Environment; readonly alpha: number | null },
): Promise<PlanDetail> {
  const learning = await learnedDrafts(ctx, { agent: scope.agent, measure: { alpha } })
  if (learning === null || learning.drafts.length + learning.written.size === 0) {
    throw new ApiError('NOT_FOUND', { detail: 'nothing has been captured from this agent yet' })
  }
  const pack = await learnedPack(learning)
  return storeDraft(ctx, { ...scope, ...pack, origin: 'learned', createdBy: ctx.signIn.email })
}

/** The rule of a card, `pay#0`: its tool, and what of its contract asks. */
const RULE = /^(.+)#(\d{1,4}|source|unusual|risk)$/
/** Of the decided calls; those that were not approved as they were asked come first. */
const MOST_DECIDED = 1_000

/**
 * Drafts the plan in force with a rule that asks about less. A bound of a checkpoint moves as far as people have approved;
 * what was learned is learned anew, by now also from the calls that people approved.
 */
export async function draftAskingLess(
  ctx: UserContext,
  { body: { agent, rule } }: Input<Routes['draftAskingLess']>,
): Promise<Reply<Routes['draftAskingLess']>> {
  const [, tool, part] = RULE.exec(rule) ?? []
  const { tenantId } = ctx.tenant
  const { environment, decided } = await inRead(ctx, (sql) =>
    listDecidedCalls(sql, { tenantId, agent, rule, limit: MOST_DECIDED }),
  )
  if (tool === undefined || part === undefined || environment === null)
    throw new ApiError('NOT_FOUND', {
      detail: 'this rule has asked nothing in a session of this agent that names its environment',
    })
  if (part === 'risk')
    throw refused(
      'the plan asks by `risk_defaults`: allow the tool there, or give its contract a checkpoint with conditions',
    )
  if (part === 'source' || part === 'unusual') {
    const { plan } = await draftLearned(ctx, { agent, environment, alpha: null })
    return { plan_id: plan.plan_id, change: null }
  }
  return draftWithBound(ctx, { agent, environment, tool, at: Number(part), decided })
}

const refused = (detail: string) => new ApiError('INVALID_REQUEST', { detail })

async function draftWithBound(
  ctx: UserContext,
  rule: {
    readonly agent: string
    readonly environment: Environment
    readonly tool: string
    readonly at: number
    readonly decided: readonly DecidedCall[]
  },
): Promise<Reply<Routes['draftAskingLess']>> {
  const { agent, environment, tool, at, decided } = rule
  const { tenantId } = ctx.tenant
  const { approved } = await inFind(ctx, (sql) => findPlansOf(sql, { tenantId, agent, environment }))
  const running =
    approved === null ? null : await inFind(ctx, (sql) => findGovernancePlan(sql, tenantId, approved.planId))
  if (running === null)
    throw refused(`no plan was approved for ${agent} in ${environment}: change the contracts of its program`)
  const name = new Map((await readPack(running.files)).contractFiles).get(tool)
  const file = running.files.find((one) => one.file === name)
  if (file === undefined) throw refused(`the plan in force has no contract of ${tool} any more`)
  const less = askLess(file, at, decided)
  if ('problem' in less) throw refused(less.problem)
  const files = running.files.map((one) => (one === file ? asCustomer({ file: file.file, text: less.text }) : one))
  const draft = { agent, environment, files, pack: await readPack(files), createdBy: ctx.signIn.email }
  const { plan } = await storeDraft(ctx, { ...draft, origin: 'submitted' })
  return {
    plan_id: plan.plan_id,
    change: {
      was: less.was,
      is: less.is,
      decided: decided.length,
      denied: decided.filter((one) => !one.approved).length,
      still_asked: less.stillAsked,
    },
  }
}
