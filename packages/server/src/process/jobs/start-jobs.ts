import { createLastingTrouble } from '../../base/lasting-trouble.js'
import type { Services } from '../../context/context.js'
import { type Job, runJob, type SharedJob } from './job.js'
import { JOBS } from './jobs.js'

export interface JobRunner {
  /** Waits for the jobs that run now. What the worker thread does by then has a few seconds to end. */
  close(): Promise<void>
}

/** A piece that takes longer to end is begun again by the next process. */
const THREAD_PATIENCE_MS = 5_000

/**
 * Looks every `tickMs` which jobs are due. They run one after another, except those that have a lane of their own.
 */
export function startJobs(services: Services, jobs: readonly (Job | SharedJob)[] = JOBS, tickMs = 5_000): JobRunner {
  let stopped = false
  const trouble = createLastingTrouble(services.log)
  const run = async (job: Job | SharedJob) => {
    if (stopped || services.stopReason() !== null) return
    try {
      const ran = await runJob(job, services)
      if (ran) services.metrics.count('countersign_job_runs_total', { job: job.name, outcome: 'done' })
      // One that another instance has proves nothing; one of which no piece is left does.
      if (ran || 'shared' in job) trouble.worked(job.name)
    } catch (error) {
      if (stopped) return
      services.metrics.count('countersign_job_runs_total', { job: job.name, outcome: 'failed' })
      trouble.failed(job.name, error)
    }
  }
  for (const { name } of jobs) {
    for (const outcome of ['done', 'failed'])
      services.metrics.count('countersign_job_runs_total', { job: name, outcome }, 0)
  }
  const own = jobs.filter(({ ownLane }) => ownLane)
  const lanes = [jobs.filter(({ ownLane }) => !ownLane), ...own.map((job) => [job])].map((lane) => ({
    lane,
    running: Promise.resolve(),
    isRunning: false,
  }))
  const timer = setInterval(() => {
    for (const each of lanes) {
      if (each.isRunning) continue
      each.isRunning = true
      each.running = runLane(each.lane, run).finally(() => {
        each.isRunning = false
      })
    }
  }, tickMs)
  timer.unref()
  return {
    close: async () => {
      stopped = true
      clearInterval(timer)
      const patience = setTimeout(() => void services.thread.close(), THREAD_PATIENCE_MS)
      await Promise.all(lanes.map(({ running }) => running))
      clearTimeout(patience)
    },
  }
}

async function runLane(
  jobs: readonly (Job | SharedJob)[],
  run: (job: Job | SharedJob) => Promise<void>,
): Promise<void> {
  for (const job of jobs) await run(job)
}
