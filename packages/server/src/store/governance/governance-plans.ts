import type { Environment, PlanRow as PlanView } from '@countersign/protocol'
import type { PageEnd } from '../../base/time-cursor.js'
import type { Queryable, Tx } from '../../postgres/sql.js'
import { pageEnd, pageTime } from '../page-time.js'

export interface PlanFile {
  file: string
  text: string
}

/** As the column has them, so that versions are compared to the letter. */
export const filesText = (files: readonly PlanFile[]): string => JSON.stringify(files)

export interface GovernancePlan {
  planId: string
  agent: string
  environment: Environment
  state: PlanView['state']
  compiledHash: string
  origin: PlanView['origin']
  contracts: number
  createdAt: Date
  createdBy: string | null
  decidedAt: Date | null
  decidedBy: string | null
  decidedWhy: string | null
}

export interface Scope {
  tenantId: string
  agent: string
  environment: Environment
}

const columns = (sql: Queryable) => sql`
  plan_id, agent, environment, state, compiled_hash, origin, contracts, created_at, created_by, decided_at, decided_by,
  decided_why`

export async function insertGovernancePlan(
  sql: Queryable,
  plan: Scope & {
    planId: string
    compiledHash: string
    origin: GovernancePlan['origin']
    files: readonly PlanFile[]
    contracts: number
    createdBy: string | null
  },
): Promise<void> {
  await sql`
    insert into governance_plans
      (tenant_id, plan_id, agent, environment, state, compiled_hash, origin, files, contracts, created_at, created_by)
    values (${plan.tenantId}, ${plan.planId}, ${plan.agent}, ${plan.environment}, 'draft', ${plan.compiledHash},
      ${plan.origin}, ${filesText(plan.files)}::text::json, ${plan.contracts}, clock_timestamp(), ${plan.createdBy})`
}

/** The id of the oldest draft with these very files; null where none is open. */
export async function findOpenDraft(
  sql: Queryable,
  plan: Scope & { compiledHash: string; origin: GovernancePlan['origin']; files: readonly PlanFile[] },
): Promise<string | null> {
  const [row] = await sql<{ planId: string }[]>`
    select plan_id from governance_plans
    where tenant_id = ${plan.tenantId} and agent = ${plan.agent} and environment = ${plan.environment}
      and state = 'draft' and compiled_hash = ${plan.compiledHash} and origin = ${plan.origin}
      and files::text = ${filesText(plan.files)}
    order by created_at limit 1`
  return row?.planId ?? null
}

/** Null when the tenant has no plan by this id. */
export async function findGovernancePlan(
  sql: Queryable,
  tenantId: string,
  planId: string,
): Promise<(GovernancePlan & { files: PlanFile[] }) | null> {
  const [row] = await sql<(GovernancePlan & { files: PlanFile[] })[]>`
    select ${columns(sql)}, files from governance_plans where tenant_id = ${tenantId} and plan_id = ${planId}`
  return row ?? null
}

/** The same without its files. */
export async function findPlanRow(sql: Queryable, tenantId: string, planId: string): Promise<GovernancePlan | null> {
  const [row] = await sql<GovernancePlan[]>`
    select ${columns(sql)} from governance_plans where tenant_id = ${tenantId} and plan_id = ${planId}`
  return row ?? null
}

/** The plan in force and the newest draft of an agent in an environment. */
export async function findPlansOf(
  sql: Queryable,
  { tenantId, agent, environment }: Scope,
): Promise<{ approved: GovernancePlan | null; draft: GovernancePlan | null }> {
  // The state stands in the statement itself, so that PostgreSQL knows how many plans have it.
  const newest = (state: 'approved' | 'draft') => sql`
    select ${columns(sql)} from governance_plans
    where tenant_id = ${tenantId} and agent = ${agent} and environment = ${environment} and state = ${sql.unsafe(`'${state}'`)}
    order by created_at desc, plan_id desc limit 1`
  const rows = await sql<GovernancePlan[]>`(${newest('approved')}) union all (${newest('draft')})`
  return {
    approved: rows.find(({ state }) => state === 'approved') ?? null,
    draft: rows.find(({ state }) => state === 'draft') ?? null,
  }
}

/** The plan that was in force until this one was approved; null if it was the first. */
export async function findPlanBefore(
  sql: Queryable,
  { tenantId, agent, environment, decidedAt }: Scope & { decidedAt: Date },
): Promise<GovernancePlan | null> {
  const [row] = await sql<GovernancePlan[]>`
    select ${columns(sql)} from governance_plans
    where tenant_id = ${tenantId} and agent = ${agent} and environment = ${environment}
      and state in ('approved', 'superseded') and decided_at < ${decidedAt}
    order by decided_at desc limit 1`
  return row ?? null
}

/** Newest first, below the cursor. */
export function listGovernancePlans(
  sql: Queryable,
  page: {
    tenantId: string
    agent: string | null
    environment: Environment | null
    state: GovernancePlan['state'] | null
    below: PageEnd | null
    limit: number
  },
): Promise<(GovernancePlan & { pageAt: string })[]> {
  const { below } = page
  return sql<(GovernancePlan & { pageAt: string })[]>`
    select ${columns(sql)}, ${pageTime(sql, sql`created_at`)} from governance_plans
    where tenant_id = ${page.tenantId}
      ${page.agent === null ? sql`` : sql`and agent = ${page.agent}`}
      ${page.environment === null ? sql`` : sql`and environment = ${page.environment}`}
      ${page.state === null ? sql`` : sql`and state = ${page.state}`}
      ${below === null ? sql`` : sql`and (created_at, plan_id) < ${pageEnd(sql, below)}`}
    order by created_at desc, plan_id desc limit ${page.limit}`
}

/** Replaces the files of a draft. False when it is no draft any more, or was edited since. */
export async function replaceFiles(
  sql: Queryable,
  change: {
    tenantId: string
    planId: string
    replaces: readonly PlanFile[]
    compiledHash: string
    files: readonly PlanFile[]
    contracts: number
  },
): Promise<boolean> {
  const rows = await sql`
    update governance_plans
    set files = ${filesText(change.files)}::text::json, compiled_hash = ${change.compiledHash},
      contracts = ${change.contracts}
    where tenant_id = ${change.tenantId} and plan_id = ${change.planId} and state = 'draft'
      and files::text = ${filesText(change.replaces)}
    returning 1`
  return rows.length === 1
}

export interface PlanReview {
  tenantId: string
  planId: string
  /** What was reviewed: a draft that was edited meanwhile is not decided. */
  compiledHash: string
  by: string
  why: string
}

/**
 * Makes a draft the plan in force: the former one is superseded, and sessions created from now on get this one. False
 * when it is no draft with these files any more.
 */
export async function approveGovernancePlan(tx: Tx, review: PlanReview & Scope): Promise<boolean> {
  const { tenantId, planId, agent, environment, compiledHash } = review
  const [draft] = await tx`
    select 1 from governance_plans
    where tenant_id = ${tenantId} and plan_id = ${planId} and state = 'draft' and compiled_hash = ${compiledHash}
    for update`
  if (draft === undefined) return false
  await tx`
    insert into approved_plans (tenant_id, agent, environment, compiled_hash, approved_at, promises_rates)
    select tenant_id, ${agent}, ${environment}, compiled_hash, statement_timestamp(),
      compiled_session #> '{session,surprise,expected}' is not null
    from plans where tenant_id = ${tenantId} and compiled_hash = ${compiledHash}
    on conflict (tenant_id, agent, environment) do update set
      compiled_hash = excluded.compiled_hash, approved_at = excluded.approved_at, drift = null,
      promises_rates = excluded.promises_rates`
  // Sessions will be created with it: it is part of their proof.
  await tx`update plans set permanent = true where tenant_id = ${tenantId} and compiled_hash = ${compiledHash}`
  await tx`
    update governance_plans set state = 'superseded'
    where tenant_id = ${tenantId} and agent = ${agent} and environment = ${environment} and state = 'approved'`
  await tx`
    update governance_plans
    set state = 'approved', decided_at = statement_timestamp(), decided_by = ${review.by}, decided_why = ${review.why}
    where tenant_id = ${tenantId} and plan_id = ${planId}`
  return true
}

/** False when it is no draft any more. */
export async function rejectGovernancePlan(sql: Queryable, review: Omit<PlanReview, 'compiledHash'>): Promise<boolean> {
  const rows = await sql`
    update governance_plans
    set state = 'rejected', decided_at = statement_timestamp(), decided_by = ${review.by}, decided_why = ${review.why}
    where tenant_id = ${review.tenantId} and plan_id = ${review.planId} and state = 'draft'
    returning 1`
  return rows.length === 1
}
