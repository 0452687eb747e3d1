import type { RunReport, RunView } from '@countersign/protocol'
import type { PageEnd } from '../../base/time-cursor.js'
import type { Queryable, Tx } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'
import { daysAgo } from '../days-ago.js'
import { deleteSome } from '../delete-some.js'
import { pageEnd, pageTime } from '../page-time.js'

/** Without its report, which may have megabytes. */
export interface RunRow {
  runId: string
  status: RunView['status']
  sessionsDone: number
  compiledHash: string
  bodyHash: string
  hasReport: boolean
  error: string | null
  createdAt: Date
  finishedAt: Date | null
}

/** What a queued run judges: captured sessions of an agent. */
export interface CapturedScope {
  agent: string
  since: string | null
  maxSessions: number
  unmatchedPolicy: 'block' | 'allow'
}

export const BUDGET_DAYS = 30

const columns = (sql: Queryable) => sql`
  run_id, status, sessions_done, compiled_hash, body_hash, report is not null as has_report, error, created_at, finished_at`

export async function findRun(sql: Queryable, tenantId: string, runId: string): Promise<RunRow | null> {
  const [row] = await sql<RunRow[]>`
    select ${columns(sql)} from runs where tenant_id = ${tenantId} and run_id = ${runId}`
  return row ?? null
}

/** The report of a run as JSON, which is not parsed here; null where there is none. */
export async function findReport(sql: Queryable, tenantId: string, runId: string): Promise<string | null> {
  const [row] = await sql<{ report: string | null }[]>`
    select report::text as report from runs where tenant_id = ${tenantId} and run_id = ${runId}`
  return row?.report ?? null
}

/** What the report of a finished backtest says of all sessions. */
export interface FinishedRun {
  runId: string
  createdAt: Date
  sessions: number
  sessionsPassed: number
  calls: number
  newlyAllowed: number
  newlyBlocked: number
  changedCalls: RunReport['changed_calls']
  notJudged: RunReport['not_judged']
}

/** Backtests of a plan over captured sessions of its agent. */
export interface PlanBacktests {
  /** The newest that has finished; null without any. */
  finished: FinishedRun | null
  /** Another one waits or is under way. */
  isUnderWay: boolean
}

/** Runs of fixtures, or over sessions of another agent, say nothing of this one. */
export async function findBacktests(
  sql: Queryable,
  { tenantId, compiledHash, agent }: { tenantId: string; compiledHash: string; agent: string },
): Promise<PlanBacktests> {
  const own = sql`tenant_id = ${tenantId} and compiled_hash = ${compiledHash} and against ->> 'agent' = ${agent}`
  const [row] = await sql<(FinishedRun & { isUnderWay: boolean })[]>`
    select exists (select from runs where ${own} and status in ('queued', 'running')) as is_under_way, newest.*
    from (select) as one left join lateral (
      select run_id, created_at, r.* from (
        select run_id, created_at, report from runs where ${own} and status = 'done' and report is not null
        order by created_at desc, run_id desc limit 1
      ) as done cross join lateral json_to_record(report) as r (
        sessions int, sessions_passed int, calls int, newly_allowed int, newly_blocked int, changed_calls json,
        not_judged json)
    ) as newest on true`
  if (row === undefined) throw new Error('nothing says which backtests a plan has')
  const { isUnderWay, ...finished } = row
  return { finished: finished.runId === null ? null : finished, isUnderWay }
}

/**
 * Runs that count against the budget now: a tenant may have 100,000, so this is no lookup by key. With the tenant locked,
 * none can be added meanwhile.
 */
export async function countRuns(sql: Queryable, tenantId: string): Promise<number> {
  const [row] = await sql<{ used: number }[]>`
    select count(*)::int as used from runs
    where tenant_id = ${tenantId} and created_at > clock_timestamp() - make_interval(days => ${BUDGET_DAYS})`
  return row?.used ?? 0
}

/** So that two runs cannot both be the last one of the budget. */
export async function lockBudget(tx: Tx, tenantId: string): Promise<void> {
  await tx`select 1 from tenants where tenant_id = ${tenantId} for no key update`
}

export interface WrittenReport {
  /** As JSON. */
  readonly report: string
  readonly sessions: number
}

/** False when the tenant has a run by this id. */
export async function insertRun(
  tx: Tx,
  run: {
    tenantId: string
    runId: string
    compiledHash: string
    bodyHash: string
    against: CapturedScope | null
    /** Of a run that has ended: its report, or why there is none. */
    written: WrittenReport | null
  },
): Promise<boolean> {
  const { against, written } = run
  const status = written !== null ? 'done' : 'queued'
  const rows = await tx`
    insert into runs (tenant_id, run_id, status, sessions_done, compiled_hash, against, body_hash, report, error,
      created_at, finished_at)
    values (${run.tenantId}, ${run.runId}, ${status}, ${written?.sessions ?? 0}, ${run.compiledHash},
      ${against === null ? null : JSON.stringify(against)}::text::json, ${run.bodyHash},
      ${written?.report ?? null}::text::json, null, clock_timestamp(),
      case when ${status !== 'queued'} then clock_timestamp() end)
    on conflict do nothing returning 1`
  return rows.length === 1
}

export interface ClaimedRun {
  tenantId: string
  runId: string
  compiledHash: string
  against: CapturedScope
  /** Times it was begun, with this one. */
  attempts: number
}

const CLAIM = '60 seconds'

/** Runs of one tenant that are judged at once, on all instances: fewer than a process has places, so that others find one. */
export const MOST_UNDER_WAY = 2

/** An arbitrary number: an instance that takes a run holds this lock, so that two do not both count themselves the last one. */
const CLAIM_LOCK = 4_319_002

/**
 * Takes a run that waits, or whose instance went away, and counts the attempt before it is made. Tenants with fewer runs
 * under way come first, and those with as many as they may have wait. Null when there is none. Of each tenant one run is
 * looked at, however many wait.
 */
export async function claimRun(tx: Tx): Promise<ClaimedRun | null> {
  await tx`select pg_advisory_xact_lock(${CLAIM_LOCK})`
  const unended = tx`status in ('queued', 'running')`
  const free = tx`${unended} and (status = 'queued' or claimed_until < statement_timestamp())`
  const some = await tx`${across(tx, 'waiting runs')} select 1 from runs where ${free} limit 1`
  if (some.length === 0) return null
  const waiting = await tx<{ tenantId: string }[]>`
    ${across(tx, 'waiting runs')} select t.tenant_id from tenants t
    cross join lateral (
      select created_at from runs r where r.tenant_id = t.tenant_id and ${free} order by created_at limit 1
    ) as first
    cross join lateral (
      select count(*) as runs from runs r
      where r.tenant_id = t.tenant_id and r.status = 'running' and r.claimed_until >= statement_timestamp()
    ) as under_way
    where under_way.runs < ${MOST_UNDER_WAY} order by under_way.runs, first.created_at limit ${MOST_TRIED}`
  for (const { tenantId } of waiting) {
    const [row] = await tx<ClaimedRun[]>`
      update runs set status = 'running', claimed_until = statement_timestamp() + ${CLAIM}::interval, attempts = attempts + 1
      where tenant_id = ${tenantId} and run_id = (
        select run_id from runs where tenant_id = ${tenantId} and ${free} order by created_at limit 1 for update skip locked
      )
      returning tenant_id, run_id, compiled_hash, against, attempts`
    if (row !== undefined) return row
  }
  return null
}

/** Tenants whose runs another instance may hold at this moment, before the next round looks again. */
const MOST_TRIED = 50

/** Says how far it is, and that it goes on. */
export async function renewClaim(
  sql: Queryable,
  { tenantId, runId, attempts }: ClaimedRun,
  sessionsDone: number,
): Promise<void> {
  await sql`
    update runs set claimed_until = statement_timestamp() + ${CLAIM}::interval, sessions_done = ${sessionsDone}
    where tenant_id = ${tenantId} and run_id = ${runId} and status = 'running' and attempts = ${attempts}`
}

/** Lets another attempt begin. `counted` is false where the run was not to blame. */
export async function requeueRun(
  sql: Queryable,
  { tenantId, runId, attempts }: ClaimedRun,
  { counted }: { counted: boolean },
): Promise<void> {
  await sql`
    update runs set status = 'queued', claimed_until = null, sessions_done = 0,
      attempts = attempts - ${counted ? 0 : 1}::int
    where tenant_id = ${tenantId} and run_id = ${runId} and status = 'running' and attempts = ${attempts}`
}

/** Ends a run with its report. One that another instance ended meanwhile stays as it is. */
export async function finishRun(
  sql: Queryable,
  { tenantId, runId }: ClaimedRun,
  { report, sessions }: WrittenReport,
): Promise<void> {
  await sql`
    update runs set status = 'done', report = ${report}::text::json, error = null, sessions_done = ${sessions},
      finished_at = statement_timestamp(), claimed_until = null, attempts = 0
    where tenant_id = ${tenantId} and run_id = ${runId} and status = 'running'`
}

/** Ends a run with what a person is told of it. One that was taken over or ended meanwhile stays as it is. */
export async function failRun(sql: Queryable, { tenantId, runId, attempts }: ClaimedRun, error: string): Promise<void> {
  await sql`
    update runs set status = 'failed', report = null, error = ${error}, finished_at = statement_timestamp(),
      claimed_until = null
    where tenant_id = ${tenantId} and run_id = ${runId} and status = 'running' and attempts = ${attempts}`
}

/** Characters of the reports of one page, and of one run more. */
const PAGE_SIZE = 1024 * 1024

export type ListedRun = RunRow & {
  /** As JSON. */
  report: string | null
  pageAt: string
  /** How many there are up to the limit, whether they came or not. */
  inPage: number
}

/** Newest first, below the cursor. Fewer than the limit where their reports are long. */
export function listRuns(
  sql: Queryable,
  page: { tenantId: string; compiledHash: string | null; below: PageEnd | null; limit: number },
): Promise<ListedRun[]> {
  const { below } = page
  return sql<ListedRun[]>`
    select ${columns(sql)}, report::text as report, page_at, in_page::int from (
      select *, sum(own) over (order by created_at desc, run_id desc) - own as size_before, count(*) over () as in_page
      from (
        select ${columns(sql)}, report, coalesce(length(report::text), 0) as own, ${pageTime(sql, sql`created_at`)} from runs
        where tenant_id = ${page.tenantId}
          ${page.compiledHash === null ? sql`` : sql`and compiled_hash = ${page.compiledHash}`}
          ${below === null ? sql`` : sql`and (created_at, run_id) < ${pageEnd(sql, below)}`}
        order by created_at desc, run_id desc limit ${page.limit}
      ) newest
    ) measured
    where size_before < ${PAGE_SIZE}
    order by created_at desc, run_id desc`
}

/** Removes runs that were started more than `days` ago and have ended, some at once. Returns how many went. */
export function deleteOldRuns(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteSome(sql, 'runs', sql`created_at < ${daysAgo(sql, days)} and status in ('done', 'failed')`, limit)
}
