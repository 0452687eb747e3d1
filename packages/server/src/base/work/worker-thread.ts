import { ApiError } from '../api-error.js'
import { createFairQueue, type Waiting } from './fair-queue.js'
import {
  createOneThread,
  type OneThread,
  type OneThreadLimits,
  type TaskReply,
  type TaskToDo,
  ThreadClosed,
  ThreadEnded,
} from './one-thread.js'
import { createUsedTime } from './used-time.js'

/** A task did not come to an end: it threw, took too long, or needed too much memory. */
export class TaskFailed extends Error {
  override name = 'TaskFailed'

  constructor(
    task: string,
    /** In words that whoever sent it can read: "it took longer than 10 seconds". */
    readonly why: string,
    /** How long it had the thread. */
    readonly ms = 0,
  ) {
    super(`${task} failed: ${why}`)
  }
}

/** By name what goes in and what comes out: plain data, which is copied. */
export type TaskTypes = { readonly [name: string]: { input: unknown; output: unknown } }

/**
 * A thread for work that takes long or that nobody can foresee: the event loop stays free for requests. It does one task
 * at a time. What takes too long or too much memory ends the thread and not the process; the next task gets a new one.
 * Who used it least comes next. Where a second thread is set, whoever used little does not wait for the tasks of others:
 * theirs go to that one meanwhile, and back in line if they turn out to be long (decision 0169).
 */
export interface WorkerThread<Tasks extends TaskTypes> {
  /** Does a task when it is its turn. */
  run<Name extends keyof Tasks & string>(
    tenantId: string,
    name: Name,
    input: Tasks[Name]['input'],
    options?: TaskOptions,
  ): Promise<Tasks[Name]['output']>
  /** Ends the thread; the task that runs and those that wait fail with `ThreadClosed`. */
  close(): Promise<void>
}

export interface TaskOptions {
  /** Parts of the input that are handed over instead of copied. */
  readonly transfer?: readonly ArrayBuffer[]
  /** Accepted already, as the next part of a request: it is not refused, however many wait. */
  readonly isOwed?: boolean
}

export interface ThreadLimits extends OneThreadLimits {
  /** What waits, for the person who is refused. */
  readonly what: string
  /** Tasks of one tenant that may wait, and of all. */
  readonly waitingPerTenant: number
  readonly waitingInAll: number
  /** The thread for those who used little; null where there is none. */
  readonly second: SecondThreadLimits | null
}

export interface SecondThreadLimits extends OneThreadLimits {
  /** Who used more lately waits for the first thread. */
  readonly littleMs: number
}

/** Long enough for what most requests need, and short enough for others to wait for. */
const SECOND_THREAD: SecondThreadLimits = { timeLimitMs: 1_000, memoryMb: 64, littleMs: 2_000 }

export const THREAD_LIMITS: ThreadLimits = {
  what: 'large requests of this tenant',
  timeLimitMs: 10_000,
  memoryMb: 256,
  waitingPerTenant: 16,
  waitingInAll: Number.POSITIVE_INFINITY,
  second: SECOND_THREAD,
}

interface Task extends Waiting, TaskToDo {
  readonly done: (output: never) => void
  readonly fail: (why: Error) => void
  /** It took more than the second thread has. */
  readonly isLong: boolean
}

interface Lane {
  readonly thread: OneThread
  readonly isSecond: boolean
  isFree: boolean
}

/** `entry` is the program of the thread. It is started with the first task. */
export function createWorkerThread<Tasks extends TaskTypes>(
  entry: URL,
  limits: ThreadLimits = THREAD_LIMITS,
): WorkerThread<Tasks> {
  const { what, waitingPerTenant, waitingInAll, second } = limits
  const used = createUsedTime()
  const queue = createFairQueue<Task>({ what, perOwner: waitingPerTenant, inAll: waitingInAll, usedMs: used.of })
  const lanes = [limits, ...(second === null ? [] : [second])].map(
    (own, at): Lane => ({ thread: createOneThread(entry, own), isSecond: at > 0, isFree: true }),
  )
  let isClosed = false

  /** What was handed over cannot be sent again. */
  const suitsSecond = ({ owner, isLong, transfer }: Task): boolean =>
    !isLong && transfer.length === 0 && used.of(owner) < (second?.littleMs ?? 0)

  const next = () => {
    for (const lane of lanes) {
      if (!lane.isFree || isClosed) continue
      const task = queue.next(lane.isSecond ? suitsSecond : undefined)
      if (task !== null) void work(lane, task)
    }
  }

  const work = async (lane: Lane, task: Task): Promise<void> => {
    lane.isFree = false
    let end = () => {}
    let begunMs = Number.POSITIVE_INFINITY
    const begun = () => {
      end = used.begin(task.owner)
      begunMs = performance.now()
    }
    try {
      settle(task, await lane.thread.do(task, begun))
    } catch (error) {
      if (!(error instanceof ThreadEnded)) task.fail(error as Error)
      else if (lane.isSecond) queue.putBack({ ...task, isLong: true })
      else task.fail(new TaskFailed(task.name, error.message, Math.max(0, performance.now() - begunMs)))
    } finally {
      end()
      lane.isFree = true
      next()
    }
  }

  return {
    run: (owner, name, input, { transfer = [], isOwed = false } = {}) =>
      new Promise((done, fail) => {
        if (isClosed) throw new ThreadClosed('the server is stopping')
        if (!isOwed) queue.requireRoom(owner)
        queue.add({ owner, name, input, transfer, done, fail, refuse: isOwed ? null : fail, isLong: false })
        next()
      }),
    close: async () => {
      isClosed = true
      for (let left = queue.next(); left !== null; left = queue.next())
        left.fail(new ThreadClosed('the server is stopping'))
      await Promise.all(lanes.map(({ thread }) => thread.close()))
    },
  }
}

function settle({ name, done, fail }: Task, reply: TaskReply): void {
  if (reply.ok) done(reply.output as never)
  else if ('refusal' in reply) fail(new ApiError(reply.refusal.code, reply.refusal.extras))
  else fail(new TaskFailed(name, reply.error))
}
