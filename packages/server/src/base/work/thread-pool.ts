import { createFairQueue, type Waiting } from './fair-queue.js'
import {
  createOneThread,
  type OneThread,
  type OneThreadLimits,
  type TaskReply,
  type TaskToDo,
  ThreadClosed,
  ThreadEnded,
  type ThreadStart,
} from './one-thread.js'
import { createUsedTime } from './used-time.js'

/** A task did not come to an end: it threw, took too long, or needed too much memory. */
export class TaskFailed extends Error {
  override name = 'TaskFailed'

  constructor(
    task: string,
    /** In words for the sender: "it took longer than 10 seconds". */
    readonly why: string,
    /** Which limit it went over; null: it broke. */
    readonly over: ThreadEnded['over'] = null,
    /** It may have changed something that lasts. */
    readonly hasWritten = false,
  ) {
    super(`${task} failed: ${why}`)
  }
}

/** By name what goes in and what comes out: plain data, which is copied. */
export type TaskTypes = { readonly [name: string]: { input: unknown; output: unknown } }

/**
 * Threads for work that takes long or cannot be foreseen: the event loop stays free for requests. Each does one task
 * at a time. What takes too long or too much memory ends its thread and not the process; the next task gets a new one.
 * Who used the threads least comes next, and no tenant has all of them.
 */
export interface ThreadPool<Tasks extends TaskTypes> {
  /** Does a task when it is its turn. */
  run<Name extends keyof Tasks & string>(
    tenantId: string,
    name: Name,
    input: Tasks[Name]['input'],
    options?: TaskOptions,
  ): Promise<Tasks[Name]['output']>
  /** Starts a thread, so that the first task does not wait for it. */
  warm(): void
  /** Ends the threads; the tasks that run and those that wait fail with `ThreadClosed`. */
  close(): Promise<void>
}

export interface TaskOptions {
  /** It is not refused, however many wait. */
  readonly isAdmitted?: boolean
}

export interface PoolLimits extends OneThreadLimits {
  readonly threads: number
  /** What waits, for the person who is refused. */
  readonly what: string
  /** Tasks of one tenant that may wait, and of all. */
  readonly waitingPerTenant: number
  readonly waitingInAll: number
}

interface Task extends Waiting, TaskToDo {
  readonly done: (output: never) => void
  readonly fail: (why: Error) => void
  /** It ended a thread in which others had left something. */
  readonly isSecondTry: boolean
}

interface Lane {
  readonly thread: OneThread
  /** Whose task it does. */
  owner: string | null
  /** Tasks since it was started. */
  tasks: number
}

/** `entry` is the program of a thread. A thread starts with its first task. */
export function createThreadPool<Tasks extends TaskTypes>(
  entry: URL,
  limits: PoolLimits,
  start: ThreadStart = {},
): ThreadPool<Tasks> {
  const { what, threads, waitingPerTenant, waitingInAll } = limits
  const mostOfOne = Math.max(1, threads - 1)
  const used = createUsedTime()
  const queue = createFairQueue<Task>({ what, perOwner: waitingPerTenant, inAll: waitingInAll, usedMs: used.of })
  const lanes = Array.from(
    { length: threads },
    (): Lane => ({ thread: createOneThread(entry, limits, start), owner: null, tasks: 0 }),
  )
  let isClosed = false

  const mayGo = ({ owner }: Task): boolean => lanes.filter((lane) => lane.owner === owner).length < mostOfOne

  const next = () => {
    for (const lane of lanes) {
      if (lane.owner !== null || isClosed) continue
      const task = queue.next(mayGo)
      if (task === null) return
      void work(lane, task)
    }
  }

  const work = async (lane: Lane, task: Task): Promise<void> => {
    lane.owner = task.owner
    lane.tasks += 1
    let end = () => {}
    let hasWritten = false
    const begun = () => {
      end = used.begin(task.owner)
    }
    const writes = () => {
      hasWritten = true
    }
    try {
      settle(task, await lane.thread.do(task, { begun, writes }))
    } catch (error) {
      const isFirst = lane.tasks === 1
      lane.tasks = 0
      if (!(error instanceof ThreadEnded)) task.fail(error as Error)
      else if (error.over === 'memory' && !isFirst && !hasWritten && !task.isSecondTry)
        queue.putBack({ ...task, isSecondTry: true })
      else task.fail(new TaskFailed(task.name, error.message, error.over, hasWritten))
    } finally {
      end()
      lane.owner = null
      next()
    }
  }

  return {
    run: (owner, name, input, { isAdmitted = false } = {}) =>
      new Promise((done, fail) => {
        if (isClosed) throw new ThreadClosed('the server is stopping')
        if (!isAdmitted) queue.requireRoom(owner)
        queue.add({ owner, name, input, done, fail, refuse: isAdmitted ? null : fail, isSecondTry: false })
        next()
      }),
    warm: () => lanes[0]?.thread.warm(),
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
  else fail(new TaskFailed(name, reply.error))
}
