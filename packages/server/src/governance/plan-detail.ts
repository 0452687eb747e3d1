import {
  confidenceOf,
  type PlanBacktest,
  type PlanDetail,
  type PlanRates,
  type PlanRow,
  SIDE_EFFECTS,
  type SideEffect,
} from '@countersign/protocol'
import { sha256 } from '../base/crypto/secrets.js'
import type { Context } from '../context/context.js'
import type { CompiledPack, PlanComparison } from '../context/tasks.js'
import { inRead } from '../context/work.js'
import { comparePlans } from '../packs/compare-plans.js'
import { listKnownTools } from '../store/captures/learned-tools.js'
import {
  filesText,
  findPlanBefore,
  findPlansOf,
  type GovernancePlan,
  type PlanFile,
  type Scope,
} from '../store/governance/governance-plans.js'
import { findPlanText } from '../store/governance/plans.js'
import type { FinishedRun, PlanBacktests } from '../store/runs/runs.js'

export type Comparison = PlanComparison & { running: GovernancePlan | null }

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
  const scope: Scope = { tenantId: ctx.tenant.tenantId, agent, environment }
  const { approved } = await inRead(ctx, (sql) => findPlansOf(sql, scope))
  const other =
    approvedAt === null
      ? approved
      : await inRead(ctx, (sql) => findPlanBefore(sql, { ...scope, decidedAt: approvedAt }))
  const running =
    other === null ? null : await inRead(ctx, (sql) => findPlanText(sql, scope.tenantId, other.compiledHash))
  const known = await inRead(ctx, (sql) => listKnownTools(sql, scope.tenantId, agent))
  const learned = known.map(({ toolName, samples }) => ({ tool: toolName, samples, confidence: confidenceOf(samples) }))
  const { compiled, advisories } = pack
  const comparison = comparePlans({ pack: { compiled, advisories }, running, learned })
  return { running: approved, ...comparison }
}

export function planDetail(
  plan: GovernancePlan & { files: PlanFile[] },
  comparison: Comparison,
  rates: PlanRates | null,
  { finished, isUnderWay }: PlanBacktests,
): PlanDetail {
  const { running, changes, blockers, advisories, effectsBefore } = comparison
  return {
    plan: planRow(plan),
    files: plan.files,
    files_hash: hashOfFiles(plan.files),
    running: running === null ? null : planRow(running),
    changes,
    blockers,
    advisories,
    rates,
    backtest: finished === null ? null : backtestView(finished, effectsBefore),
    backtest_under_way: isUnderWay,
  }
}

const backtestView = (run: FinishedRun, before: PlanComparison['effectsBefore']): PlanBacktest => ({
  run_id: run.runId,
  created_at: run.createdAt.toISOString(),
  sessions: run.sessions,
  sessions_passed: run.sessionsPassed,
  calls: run.calls,
  newly_allowed: run.newlyAllowed,
  newly_blocked: run.newlyBlocked,
  // A plan that calls a payment a read makes it looser all the same.
  changed_calls: run.changedCalls.map((row) => ({
    ...row,
    side_effect: stricterEffect(row.side_effect, before.get(row.tool_name) ?? null),
  })),
  not_judged: run.notJudged,
})

const stricterEffect = (one: SideEffect | null, other: SideEffect | null): SideEffect | null =>
  SIDE_EFFECTS.findLast((effect) => effect === one || effect === other) ?? null

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
