import { ApiError } from '../base/api-error.js'
import { JOBS_SHARE, MAX_ATTEMPTS, whileRenewing } from '../base/work/piece-of-work.js'
import type { Context, Services } from '../context/context.js'
import { ownFault, type PageToJudge, type RunPlan } from '../context/tasks.js'
import { inFind } from '../context/work.js'
import type { Query } from '../postgres/sql.js'
import { listConversations, loadConversations, measureConversations } from '../store/captures/captures.js'
import { findPlanText } from '../store/governance/plans.js'
import {
  type ClaimedRun,
  claimRun,
  failRun,
  finishRun,
  renewClaim,
  requeueRun,
  type WrittenReport,
} from '../store/runs/runs.js'
import { judgeFixtures } from './judge-page.js'

/** What is judged at once: so many conversations, or as many as come to so many characters. */
const PAGE_LIMITS = { conversations: 100, size: 1024 * 1024 } as const

/** Of a longer conversation its beginning is judged. */
const CONVERSATION_SIZE = 4 * 1024 * 1024

/** Time of reading and judging that a run may take in all, so that it ends and others get their turn. */
export const RUN_SECONDS = 120

/** A run that will not succeed however often it is tried. The message is for the person who started it. */
class RunRefused extends Error {
  override name = 'RunRefused'
}

/** Judges fixtures, which are JSON, while the request waits for it. */
export async function judgeNow(
  ctx: Context,
  { hash, unmatchedPolicy }: Pick<RunPlan, 'hash' | 'unmatchedPolicy'>,
  fixtures: string,
): Promise<WrittenReport> {
  const { tenantId } = ctx.tenant
  const compiled = await inFind(ctx, (sql) => findPlanText(sql, tenantId, hash))
  if (compiled === null) throw new ApiError('PLAN_UNKNOWN')
  return judgeFixtures({ plan: { hash, compiled, unmatchedPolicy }, fixtures })
}

/**
 * Does one run that waits. An attempt that fails is followed by another, at most three in all; then what went wrong is
 * written into the run. False when none waits.
 */
export async function judgeWaitingRun(services: Pick<Services, 'database' | 'thread' | 'log'>): Promise<boolean> {
  const { database, log } = services
  const write: Query = (fn) => database.single(JOBS_SHARE, fn)
  const run = await database.transaction(JOBS_SHARE, claimRun)
  if (run === null) return false
  const { tenantId, runId, attempts } = run
  const fail = async (reason: string) => {
    log.warn({ tenant_id: tenantId, run_id: runId, attempts, reason }, 'a run failed; its error says why')
    await write((sql) => failRun(sql, run, reason))
  }
  if (attempts > MAX_ATTEMPTS) {
    await fail(`the run was begun ${MAX_ATTEMPTS} times and the server ended each time; it is not tried again`)
    return true
  }
  try {
    await judgeCaptured(services, run)
  } catch (error) {
    const why = ownFault(error, 'reading its sessions')
    if (error instanceof RunRefused) await fail(error.message)
    else if (why !== null && attempts >= MAX_ATTEMPTS) await fail(tooOften(why))
    else {
      await write((sql) => requeueRun(sql, run, { counted: why !== null }))
      if (why === null) throw error
    }
  }
  return true
}

const tooOften = (why: string): string =>
  `the run was begun ${MAX_ATTEMPTS} times and did not get through (${why}); ` +
  'start another one with fewer sessions or a simpler plan'

/** Judges the newest conversations first, so that a run with a limit shows the agent as it is now. */
async function judgeCaptured(
  { database, thread }: Pick<Services, 'database' | 'thread'>,
  run: ClaimedRun,
): Promise<void> {
  const { tenantId, compiledHash: hash } = run
  const { agent, since, maxSessions, unmatchedPolicy } = run.against
  let ms = 0
  const read: Query = async (fn) => {
    const begunMs = performance.now()
    const found = await database.read(tenantId, fn)
    ms += performance.now() - begunMs
    return found
  }
  const write: Query = (fn) => database.single(JOBS_SHARE, fn)
  const compiled = await read((sql) => findPlanText(sql, tenantId, hash))
  if (compiled === null) throw new RunRefused(`the plan ${hash} is gone; submit it again and start another run`)
  const plan = { hash, compiled, unmatchedPolicy }
  const scope = { tenantId, agent }
  const after = since === null ? null : new Date(since)
  const ids = await read((sql) => listConversations(sql, { ...scope, since: after, limit: maxSessions }))
  let tally: string | null = null
  let sessions = 0
  const renew = () => write((sql) => renewClaim(sql, run, sessions))
  for (let from = 0; from < ids.length; ) {
    await renew()
    const page = await pageOf(read, scope, ids.slice(from, from + PAGE_LIMITS.conversations))
    from += page.length
    const wanted = { ...scope, ids: page, size: CONVERSATION_SIZE }
    const conversations = await read((sql) => loadConversations(sql, wanted))
    const input: PageToJudge = { plan, conversations, tally }
    const judged = await whileRenewing(renew, () => thread.run(tenantId, 'judgePage', input))
    ;({ tally, sessions } = judged)
    ms += judged.ms
    if (ms > RUN_SECONDS * 1_000) {
      throw new RunRefused(
        `reading and judging took more than ${RUN_SECONDS} seconds after ${sessions} of ${ids.length} sessions; ` +
          'start another run with fewer sessions or a simpler plan',
      )
    }
  }
  const report = await thread.run(tenantId, 'reportRun', { plan, tally })
  await write((sql) => finishRun(sql, run, { report, sessions }))
}

/** As many of the conversations as fit into one page, and at least one. */
async function pageOf(
  read: Query,
  scope: { tenantId: string; agent: string },
  ids: readonly string[],
): Promise<readonly string[]> {
  const sizes = await read((sql) => measureConversations(sql, { ...scope, ids }))
  let size = 0
  const end = ids.findIndex((id, at) => {
    size += Math.min(sizes.get(id) ?? 0, CONVERSATION_SIZE)
    return at > 0 && size > PAGE_LIMITS.size
  })
  return end === -1 ? ids : ids.slice(0, end)
}

/** Runs that one process judges at once, so that a short one need not wait for a long one. */
export const MAX_JUDGED_AT_ONCE = 4

const judging = new WeakMap<object, Set<Promise<void>>>()

const judgingOn = (database: object): Set<Promise<void>> => {
  const known = judging.get(database) ?? new Set()
  judging.set(database, known)
  return known
}

/** Begins with runs that wait, beside whatever else is done. */
export function judgeBeside(services: Services): void {
  const { database, log } = services
  const known = judgingOn(database)
  if (known.size >= MAX_JUDGED_AT_ONCE) return
  const work = (async () => {
    while (services.isReady() && (await judgeWaitingRun(services)));
  })()
    .catch((error) => log.error({ error }, 'runs could not be judged; they are taken up again'))
    .finally(() => known.delete(work))
  known.add(work)
}

/** Waits for the runs that were begun beside requests. They end soon once the worker thread is closed. */
export const runsAtRest = async (database: object): Promise<void> => void (await Promise.all(judgingOn(database)))
