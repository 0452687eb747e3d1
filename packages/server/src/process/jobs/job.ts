import { JOBS_SHARE } from '../../base/work/piece-of-work.js'
import type { Services } from '../../context/context.js'
import type { Tx } from '../../postgres/sql.js'
import { claimJob, leaveJobDue, putOffJob } from '../../store/jobs.js'

interface AnyJob {
  readonly name: string
  /** It waits for no other job: its pieces may take seconds, or it must not be late when others have much to do. */
  readonly ownLane?: true
}

/** Work that is done now and then by one of the instances, whichever comes first. */
export interface Job extends AnyJob {
  readonly everySeconds: number
  /**
   * Does one piece, in a transaction that holds the job: no other instance does the same at the same time. A piece that fails
   * takes no other with it, and the job waits for its time. It reads a bounded amount, so that it ends within the time of a
   * statement. True when more is left.
   */
  readonly run: (tx: Tx, services: Services) => Promise<boolean>
}

/** Work that lies in pieces: every instance takes some, each piece under a claim of its own. */
export interface SharedJob extends AnyJob {
  readonly shared: true
  /** Does one piece. False when none is left, or the others have them. */
  readonly run: (services: Services) => Promise<boolean>
}

/** Pieces of a shared job that one turn does, so that the others get theirs. */
const PIECES_PER_TURN = 20
/** After so long a job with more to do lets the others have their turn, and goes on in the next round. */
const TURN_MS = 2_000

/** Runs a job unless another instance has it or it ran lately. False when it was not this one's turn. */
export async function runJob(job: Job | SharedJob, services: Services): Promise<boolean> {
  return 'shared' in job ? runSharedPieces(job, services) : runPieces(job, services)
}

async function runPieces(job: Job, services: Services): Promise<boolean> {
  const endMs = performance.now() + TURN_MS
  let ran = false
  const piece = async (tx: Tx): Promise<boolean> => {
    if (!(await claimJob(tx, job))) return false
    ran = true
    const isMore = await job.run(tx, services)
    if (isMore) await leaveJobDue(tx, job)
    return isMore
  }
  try {
    for (let more = true; more && performance.now() < endMs; )
      more = await services.database.transaction(JOBS_SHARE, piece)
  } catch (error) {
    // What failed once fails again, and may take all the time of a statement: the others do not wait for that every round.
    // Where this fails too, the database is away, and the job is due when it is back.
    if (ran) await services.database.transaction(JOBS_SHARE, (tx) => putOffJob(tx, job)).catch(() => {})
    throw error
  }
  return ran
}

async function runSharedPieces(job: SharedJob, services: Services): Promise<boolean> {
  const endMs = performance.now() + TURN_MS
  for (let piece = 0; piece < PIECES_PER_TURN && performance.now() < endMs; piece++) {
    if (!(await job.run(services))) return piece > 0
  }
  return true
}
