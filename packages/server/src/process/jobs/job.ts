import { JOBS_SHARE } from '../../base/work/piece-of-work.js'
import type { Services } from '../../context/context.js'
import type { Tx } from '../../postgres/sql.js'
import { claimJob } from '../../store/jobs.js'

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
  /** Its pieces are computed in the worker thread, and each may take seconds. */
  readonly inThread?: true
  /** Does one piece. False when none is left, or the others have them. */
  readonly run: (services: Services) => Promise<boolean>
}

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
