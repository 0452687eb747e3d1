import { analyzePlan, describeNote, diffPlans, type Steps } from '@countersign/engine'
import type { CompiledSession, PlanDetail, PlanRates, PlanRow } from '@countersign/protocol'
import { sha256 } from '../base/crypto/secrets.js'
import type { Context } from '../context/context.js'
import { inTurns } from '../context/work.js'
import {
  filesText,
  findPlanBefore,
  findPlansOf,
  type GovernancePlan,
  type PlanFile,
  type Scope,
} from '../store/governance/governance-plans.js'
import { findPlan } from '../store/governance/plans.js'
import { type AgentLearning, learnedDrafts } from './learned-drafts.js'
import { type CompiledPack, warningsOf } from './read-pack.js'

export type Comparison = Pick<PlanDetail, 'changes' | 'blockers' | 'advisories'> & { running: GovernancePlan | null }

/**
 * A plan beside the one in force: what it would change, what stands in its way, what to look at. One that was approved
 * (at `approvedAt`) is compared with the one that it replaced.
 */
export async function comparePlan(
  ctx: Context,
  { agent, environment }: Omit<Scope, 'tenantId'>,
  pack: CompiledPack,
  approvedAt: Date | null = null,
): Promise<Comparison> {
  const { sql } = ctx.app.database
  const scope: Scope = { tenantId: ctx.tenant.tenantId, agent, environment }
  const { approved } = await findPlansOf(sql, scope)
  const other = approvedAt === null ? approved : await findPlanBefore(sql, { ...scope, decidedAt: approvedAt })
  const running = other === null ? null : await findPlan(sql, scope.tenantId, other.compiledHash)
  const learning = await learnedDrafts(ctx, agent)
  const plans = { pack, learning, running }
  return { running: approved, ...(await inTurns(ctx, compareInSteps(plans))) }
}

interface ComparedPlans {
  readonly pack: CompiledPack
  readonly learning: AgentLearning | null
  readonly running: CompiledSession | null
}

/** Each of them looks at the whole plan. */
function* compareInSteps({ pack, learning, running }: ComparedPlans): Steps<Omit<Comparison, 'running'>> {
  const found = diffPlans(running, pack.compiled_session)
  yield
  const changes = found.map(({ tool, effect, text }) => ({ tool_name: tool, effect, text }))
  const blockers = blockersOf(pack, learning)
  yield
  return { changes, blockers, advisories: advisoriesOf(pack, learning) }
}

export function planDetail(
  plan: GovernancePlan & { files: PlanFile[] },
  comparison: Comparison,
  rates: PlanRates | null,
): PlanDetail {
  const { running, changes, blockers, advisories } = comparison
  return {
    plan: planRow(plan),
    files: plan.files,
    files_hash: hashOfFiles(plan.files),
    running: running === null ? null : planRow(running),
    changes,
    blockers,
    advisories,
    rates,
  }
}

export const hashOfFiles = (files: readonly PlanFile[]): string => sha256(filesText(files)).toString('hex')

export const planRow = (plan: GovernancePlan): PlanRow => ({
  plan_id: plan.planId,
  agent: plan.agent,
  environment: plan.environment,
  state: plan.state,
  compiled_hash: plan.compiledHash,
  origin: plan.origin,
  contracts: plan.contracts,
  created_at: plan.createdAt.toISOString(),
  created_by: plan.createdBy,
  decided_at: plan.decidedAt?.toISOString() ?? null,
  decided_by: plan.decidedBy,
  decided_why: plan.decidedWhy,
})

/** Tools that the agent was seen to call and that the plan would stop altogether. */
function blockersOf({ compiled_session }: CompiledPack, learning: AgentLearning | null): PlanDetail['blockers'] {
  const covered = new Set(compiled_session.contracts.map(({ tool }) => tool))
  const used = (learning?.drafts ?? []).filter(({ samples }) => samples > 0).map(({ contract }) => contract.tool)
  return used
    .filter((tool) => !covered.has(tool))
    .map((tool) => ({
      tool_name: tool,
      code: 'tool_without_contract',
      message: `${tool} is in use and has no contract: every call of it would be blocked`,
    }))
}

function advisoriesOf(pack: CompiledPack, learning: AgentLearning | null): PlanDetail['advisories'] {
  const covered = new Set(pack.compiled_session.contracts.map(({ tool }) => tool))
  const drafts = (learning?.drafts ?? []).filter(({ contract }) => covered.has(contract.tool))
  return [
    ...analyzePlan(pack.compiled_session).map(({ tool, code, message }) => ({ tool_name: tool, code, message })),
    ...warningsOf(pack).map((note) => ({ tool_name: null, code: 'compiler', message: describeNote(note) })),
    ...openFlows(pack),
    ...asking(pack),
    ...drafts
      .filter(({ confidence }) => confidence === 'low')
      .map(({ contract, samples }) => ({
        tool_name: contract.tool,
        code: 'low_confidence',
        message: `${contract.tool} was seen ${samples} times: fewer than 5 calls tell little`,
      })),
  ]
}

/** How often a learned plan asks about unusual calls, and of how many captured requests it knows that. */
function asking({ compiled_session }: CompiledPack): PlanDetail['advisories'] {
  const { surprise } = compiled_session.session
  if (surprise === undefined) return []
  const { alpha, scores, requests = scores.length } = surprise
  const rate = Math.max(alpha, 1 / (requests + 1))
  const message = `a person is asked about unusual calls in about ${(rate * 100).toFixed(0)} % of the requests that resemble the ${requests} captured ones; session.yaml states what was measured`
  return [{ tool_name: null, code: 'asking_rate', message }]
}

/** Each way by which free text may choose a value, on a line of its own. */
function openFlows({ compiled_session: { contracts } }: CompiledPack): PlanDetail['advisories'] {
  const columns = new Map(contracts.map((contract) => [contract.tool, contract.columns ?? []]))
  // A whole field is free text to whoever writes there, if sentences stood in it too.
  const holdsProse = (result: string, path: string) =>
    columns
      .get(result)
      ?.some((column) => (column.path === path || column.path === '$') && column.holds.includes('prose'))
  return contracts.flatMap(({ tool, sources }) =>
    (sources ?? []).flatMap(({ path, from }) =>
      from.flatMap((origin) => {
        if (typeof origin !== 'object' || !('result' in origin)) return []
        const { result, path: place, as = 'cell' } = origin
        if (as === 'cell' && !holdsProse(result, place)) return []
        const message = `${tool}: ${path} may be taken from ${as} ${place} of the results of ${result}, which whoever writes that text can choose`
        return [{ tool_name: tool, code: 'open_flow', message }]
      }),
    ),
  )
}
