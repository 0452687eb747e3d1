import type { Plan } from '@countersign/engine'
import { type Ask, askSchema, type CompiledSession, type Input, type Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import { inFind } from '../context/work.js'
import { findPlan } from '../store/governance/plans.js'
import { type Answerer, listAnswerers } from '../store/questions/questions.js'
import { isOne } from './people.js'

type Body = Pick<Input<Routes['createSession']>['body'], 'asks' | 'capture_level'>

/** A session whose rules ask people needs people who can answer, and arguments to show them. */
export async function requireAnswerers(ctx: Context, plan: Plan, { asks, capture_level }: Body): Promise<void> {
  if (!plan.asksPeople && asks === undefined) return
  if (capture_level === 'metadata') throw new ApiError('ASK_NEEDS_ARGUMENTS')
  const contracts = [...plan.contracts.values()].map(({ definition }) => definition)
  const asked = asksOf({ session: plan.session, contracts })
  const [problem] = await tooFew(ctx, asks === undefined ? asked : [...asked, askSchema.parse({})])
  if (problem !== undefined) throw new ApiError('ASK_UNANSWERABLE', { detail: problem })
}

/** Why the members of the tenant cannot answer what a plan asks. */
export async function answererProblems(ctx: Context, compiledHash: string): Promise<string[]> {
  const plan = await inFind(ctx, (sql) => findPlan(sql, ctx.tenant.tenantId, compiledHash))
  return plan === null ? [] : tooFew(ctx, asksOf(plan))
}

const asksOf = ({ session, contracts }: Pick<CompiledSession, 'session' | 'contracts'>): Ask[] => [
  ...contracts.flatMap(({ checkpoint }) => [checkpoint ?? []].flat().flatMap(({ ask }) => ask ?? [])),
  ...(session.ask === undefined ? [] : [session.ask]),
]

async function tooFew(ctx: Context, asks: readonly Ask[]): Promise<string[]> {
  if (asks.length === 0) return []
  const members = await inFind(ctx, (sql) => listAnswerers(sql, ctx.tenant.tenantId))
  return [...new Set(asks.flatMap((ask) => problemOf(members, ask) ?? []))]
}

function problemOf(members: readonly Answerer[], { role, count, escalate }: Ask): string | null {
  const roles = [role, ...escalate.map((step) => step.role)]
  const fit = members.filter((member) => roles.some((one) => isOne(member, one))).length
  if (fit >= count) return null
  const who = roles.map((one) => (one === 'owner' || one === 'approver' ? `${one}s` : `members of ${one}`)).join(' or ')
  return `the plan needs ${count} answers from ${who}, and ${fit} members can give one; a member of a group must also be an approver or owner`
}
