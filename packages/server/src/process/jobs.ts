import { LIMITS } from '@countersign/protocol'
import { createLastingTrouble } from '../base/lasting-trouble.js'
import { cursorOf, learnCaptures } from '../captures/learn-captures.js'
import type { Services } from '../context/context.js'
import type { Tx } from '../postgres/sql.js'
import { judgeWaitingRun } from '../runs/judge-run.js'
import { deleteIdleBuckets } from '../store/accounts/buckets.js'
import { deleteOldMail, deleteOldMailTokens } from '../store/accounts/mail.js'
import { deleteEndedRefreshTokens } from '../store/accounts/refresh-tokens.js'
import { deleteOldAuditEntries } from '../store/audit.js'
import { deleteOldCaptures } from '../store/captures/captures.js'
import { countDecisions } from '../store/dashboard/decision-counts.js'
import { deleteUnusedPlans } from '../store/governance/plans.js'
import { claimJob } from '../store/jobs.js'
import { BUDGET_DAYS, deleteOldRuns } from '../store/runs/runs.js'
import { deleteOldContent, deleteOldErasures } from '../store/sessions/content.js'
import { deleteOldPreparedRequests } from '../store/sessions/prepared-requests.js'
import { deleteOldLateReceipts } from '../store/sessions/receipts.js'
import { deleteEndedHolds } from '../store/sessions/resource-holds.js'
import { eraseOldNotes } from '../store/workflows/handoffs.js'
import { expireOffers } from '../workflows/expire-offers.js'

/** Work that is done now and then by one of the instances, whichever comes first. */
export interface Job {
  readonly name: string
  readonly everySeconds: number
  /** Runs in a transaction that holds the job: no other instance does the same at the same time. */
  readonly run: (tx: Tx, services: Services) => Promise<void>
}

/** Work that lies in pieces: every instance takes some, each piece under a claim of its own. */
export interface SharedJob {
  readonly name: string
  readonly shared: true
  /** Does one piece. False when none is left, or the others have them. */
  readonly run: (services: Services) => Promise<boolean>
}

/** What only grows is cut back here. One row per kind of record. */
export interface Retention {
  readonly name: string
  /** A minute unless said: what cannot be found by its age alone is looked through less often. */
  readonly everySeconds?: number
  /** Deletes up to `limit` records that are older than the configured days, and returns how many. */
  readonly remove: (tx: Tx, options: RetentionOptions) => Promise<number>
}

interface RetentionOptions {
  readonly olderThanDays: number
  /** Null: the audit trail stays. */
  readonly auditDays: number | null
  readonly limit: number
  readonly now: Date
}

export const RETENTIONS: readonly Retention[] = [
  { name: 'idle-buckets', everySeconds: 3_600, remove: (tx, { limit }) => deleteIdleBuckets(tx, limit) },
  {
    name: 'refresh-tokens',
    remove: (tx, { now, limit }) =>
      deleteEndedRefreshTokens(tx, daysBefore(now, LIMITS.refreshTokenRetentionDays), limit),
  },
  {
    name: 'prepared-requests',
    remove: (tx, { now, olderThanDays, limit }) => deleteOldPreparedRequests(tx, daysBefore(now, olderThanDays), limit),
  },
  {
    name: 'late-receipts',
    remove: (tx, { now, olderThanDays, limit }) => deleteOldLateReceipts(tx, daysBefore(now, olderThanDays), limit),
  },
  {
    name: 'content',
    remove: (tx, { now, olderThanDays, limit }) => deleteOldContent(tx, daysBefore(now, olderThanDays), limit),
  },
  {
    name: 'erasure-marks',
    everySeconds: 3_600,
    remove: (tx, { now, limit }) => deleteOldErasures(tx, daysBefore(now, 1), limit),
  },
  {
    name: 'captures',
    remove: (tx, { now, olderThanDays, limit }) => deleteOldCaptures(tx, daysBefore(now, olderThanDays), limit),
  },
  {
    name: 'unused-plans',
    everySeconds: 3_600,
    remove: (tx, { now, olderThanDays, limit }) => deleteUnusedPlans(tx, daysBefore(now, olderThanDays), limit),
  },
  {
    name: 'runs',
    everySeconds: 3_600,
    // For as long as it counts against the budget, a run is not forgotten.
    remove: (tx, { now, olderThanDays, limit }) =>
      deleteOldRuns(tx, daysBefore(now, Math.max(olderThanDays, BUDGET_DAYS)), limit),
  },
  {
    name: 'audit',
    everySeconds: 3_600,
    remove: async (tx, { now, auditDays, limit }) =>
      auditDays === null ? 0 : deleteOldAuditEntries(tx, daysBefore(now, auditDays), limit),
  },
  { name: 'ended-holds', remove: (tx, { now, limit }) => deleteEndedHolds(tx, now, limit) },
  {
    name: 'handoff-notes',
    remove: (tx, { now, olderThanDays, limit }) => eraseOldNotes(tx, daysBefore(now, olderThanDays), limit),
  },
  {
    name: 'mail',
    remove: (tx, { now, olderThanDays, limit }) => deleteOldMail(tx, daysBefore(now, olderThanDays), limit),
  },
  {
    name: 'mail-tokens',
    remove: (tx, { now, olderThanDays, limit }) => deleteOldMailTokens(tx, daysBefore(now, olderThanDays), limit),
  },
]

const daysBefore = (now: Date, days: number) => new Date(now.getTime() - days * 24 * 3_600_000)

/** Rows of one statement, and statements of one turn: together more than a busy service leaves behind in a minute. */
const RETENTION_BATCH = 5_000
const RETENTION_ROUNDS = 40

const retentionJob = (retention: Retention): Job => ({
  name: `retention:${retention.name}`,
  everySeconds: retention.everySeconds ?? 60,
  run: async (tx, { config, log, clock }) => {
    const { retentionDays: olderThanDays, auditRetentionDays: auditDays } = config
    const options = { olderThanDays, auditDays, limit: RETENTION_BATCH, now: clock() }
    let removed = 0
    for (let round = 0; round < RETENTION_ROUNDS; round++) {
      const batch = await retention.remove(tx, options)
      removed += batch
      if (batch < RETENTION_BATCH) break
    }
    if (removed > 0) log.info({ retention: retention.name, removed }, 'removed records past their retention')
  },
})

/** Background work takes a share of the pool like a tenant does, so that it never crowds out requests. */
const JOBS_SHARE = 'jobs'

const decisionCountsJob: Job = {
  name: 'decision-counts',
  everySeconds: 60,
  run: async (tx) => {
    await countDecisions(tx)
  },
}

const learningJob: SharedJob = {
  name: 'learning',
  shared: true,
  run: async ({ database }) =>
    (await database.transaction(JOBS_SHARE, (tx) => learnCaptures(tx, cursorOf(database)))) > 0,
}

/** Runs are judged as soon as they are started; this is for those whose instance went away. */
const runsJob: SharedJob = { name: 'runs', shared: true, run: judgeWaitingRun }

const expireOffersJob: SharedJob = {
  name: 'expire-offers',
  shared: true,
  run: async (services) => (await expireOffers(services)) > 0,
}

export const JOBS: readonly (Job | SharedJob)[] = [
  ...RETENTIONS.map(retentionJob),
  decisionCountsJob,
  expireOffersJob,
  learningJob,
  runsJob,
]

/** Pieces of a shared job that one turn does, so that the others get theirs. */
const PIECES_PER_TURN = 20

/** Runs a job unless another instance has it or it ran lately. False when it was not this one's turn. */
export async function runJob(job: Job | SharedJob, services: Services): Promise<boolean> {
  if ('shared' in job) return runPieces(job, services)
  return services.database.transaction(JOBS_SHARE, async (tx) => {
    if (!(await claimJob(tx, job))) return false
    await job.run(tx, services)
    return true
  })
}

async function runPieces(job: SharedJob, services: Services): Promise<boolean> {
  for (let piece = 0; piece < PIECES_PER_TURN; piece++) {
    if (!(await job.run(services))) return piece > 0
  }
  return true
}

export interface JobRunner {
  /** Waits for the job that runs now. */
  close(): Promise<void>
}

/** Looks every `tickMs` which jobs are due, and runs them one after another. */
export function startJobs(services: Services, jobs: readonly (Job | SharedJob)[] = JOBS, tickMs = 5_000): JobRunner {
  let stopped = false
  let running: Promise<void> = Promise.resolve()
  const trouble = createLastingTrouble(services.log)
  const tick = async () => {
    for (const job of jobs) {
      if (stopped) return
      try {
        const ran = await runJob(job, services)
        if (ran) services.metrics.count('countersign_job_runs_total', { job: job.name, outcome: 'done' })
        // One that another instance has proves nothing; one of which no piece is left does.
        if (ran || 'shared' in job) trouble.worked(job.name)
      } catch (error) {
        services.metrics.count('countersign_job_runs_total', { job: job.name, outcome: 'failed' })
        trouble.failed(job.name, error)
      }
    }
  }
  const timer = setInterval(() => {
    running = running.then(tick)
  }, tickMs)
  timer.unref()
  return {
    close: async () => {
      stopped = true
      clearInterval(timer)
      await running
    },
  }
}
