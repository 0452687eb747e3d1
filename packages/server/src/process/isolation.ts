import { availableParallelism } from 'node:os'
import { SHARE_ENV } from 'node:worker_threads'
import { ApiError } from '../base/api-error.js'
import type { Config } from '../base/config.js'
import { ThreadClosed } from '../base/work/one-thread.js'
import { createThreadPool, type PoolLimits, TaskFailed, type ThreadPool } from '../base/work/thread-pool.js'
import type { Services } from '../context/context.js'
import type { IsolatedReply, IsolatedRequest, Isolation } from '../context/isolation.js'
import type { PlansInPlace } from '../context/plans-in-place.js'

/** For requests of the cycle: what takes longer is refused. At least two threads, so that no tenant has all of them. */
const QUICK: PoolLimits = {
  what: 'requests of this tenant that take long to judge',
  threads: Math.min(4, Math.max(2, availableParallelism())),
  timeLimitMs: 1_500,
  memoryMb: 256,
  waitingPerTenant: 256,
  waitingInAll: 4_096,
}

/** For what people wait for: plans read and compared, long pages. Niced, so that it never takes the processor from others. */
const SLOW: PoolLimits = {
  what: 'plans, drafts and long pages of this tenant',
  threads: 2,
  timeLimitMs: 10_000,
  memoryMb: 256,
  waitingPerTenant: 32,
  waitingInAll: 256,
}

export type RequestTasks = { answer: { input: IsolatedRequest; output: IsolatedReply } }

/** What a thread starts with. */
export interface IsolatedStart {
  readonly config: Config
  readonly databaseUrl: string
  readonly isNiced: boolean
}

/** The program of a thread, as it was built: also where tests run this file from its source. */
const PROGRAM = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/bundle/request-thread.js' : './request-thread.js',
  import.meta.url,
)

/** Services that exist once in a process: a thread hands back what it would ask of them. */
export type ProcessParts = Pick<Services, 'log' | 'metrics' | 'captures' | 'judgeRuns'> & {
  readonly plans: PlansInPlace
}
/** And what tests need to answer without a thread. */
export type IsolationParts = ProcessParts &
  Pick<Services, 'config' | 'database' | 'thread' | 'memories' | 'random' | 'clock'>

/** Takes over what a request left for the process: counts, captures, plans for the requests that follow. */
export function takeOver(
  { metrics, captures, plans, judgeRuns }: ProcessParts,
  tenantId: string,
  reply: IsolatedReply,
): void {
  for (const { name, labels, by } of reply.counted) metrics.count(name, labels, by)
  for (const item of reply.captures) captures.note(tenantId, item)
  for (const used of reply.plans) void plans.take(used)
  if (reply.runWaits) judgeRuns()
}

export function createIsolation(
  parts: ProcessParts,
  start: Pick<IsolatedStart, 'config' | 'databaseUrl'>,
  limits: { readonly quick: PoolLimits; readonly slow: PoolLimits } = { quick: QUICK, slow: SLOW },
): Isolation {
  const pool = (own: PoolLimits, isNiced: boolean): ThreadPool<RequestTasks> =>
    createThreadPool<RequestTasks>(PROGRAM, own, {
      data: (): IsolatedStart => ({ ...start, isNiced }),
      // The database may be described by variables of its own (PGPASSWORD).
      env: SHARE_ENV,
    })
  const quick = pool(limits.quick, false)
  const slow = pool(limits.slow, true)
  return {
    answer: async (request, { isSlow, isAdmitted }) => {
      const { tenantId } = request.tenant
      try {
        const reply = await (isSlow ? slow : quick).run(tenantId, 'answer', request, { isAdmitted })
        takeOver(parts, tenantId, reply)
        if ('body' in reply.outcome) {
          const { buffer, byteOffset, byteLength } = reply.outcome.body
          return Buffer.from(buffer, byteOffset, byteLength)
        }
        const { code, extras, headers } = reply.outcome.refusal
        throw new ApiError(code, extras, headers)
      } catch (error) {
        if (error instanceof ThreadClosed) throw new ApiError('UNAVAILABLE', {}, RETRY_AFTER)
        throw error instanceof TaskFailed ? failed(error, parts.log.with({ request_id: request.requestId })) : error
      }
    },
    warm: () => {
      quick.warm()
      slow.warm()
    },
    close: async () => void (await Promise.all([quick.close(), slow.close()])),
  }
}

/** A request that may have been written is answered 503: sent again, it finds its write. */
export function failed(error: TaskFailed, log: Services['log']): ApiError {
  log.warn({ error }, 'a request was given up')
  if (error.hasWritten) {
    const detail = 'the request was interrupted while it was being written; send it again'
    return new ApiError('UNAVAILABLE', { detail }, RETRY_AFTER)
  }
  return error.over === null ? new ApiError('INTERNAL') : new ApiError('TOO_COSTLY', { detail: error.why })
}

const RETRY_AFTER = { 'retry-after': '1' }
