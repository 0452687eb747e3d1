import { createLastingTrouble } from '../../base/lasting-trouble.js'
import type { Services } from '../../context/context.js'
import { type Job, runJob, type SharedJob } from './job.js'
import { JOBS } from './jobs.js'

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
      if (stopped || services.stopReason() !== null) return
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
